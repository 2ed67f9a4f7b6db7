/// What the coordinator answers over HTTP: every request becomes a message to
/// the coordinator actor and waits for its answer, on the server's threads.
#pragma once

#include "actors/coordinator.hpp"
#include "monitor/http_server.hpp"

#include <memory>
#include <string>

namespace ballast {

/// `own_address` is filled in once the server is bound. `system` must outlive
/// the server.
http_handlers coordinator_handlers(caf::actor_system& system,
                                   const coordinator_actor& whom,
                                   std::shared_ptr<record_slot> records,
                                   std::shared_ptr<std::string> own_address);

} // namespace ballast
