/// What the coordinator answers over HTTP: every request is read here, becomes
/// a typed message to the coordinator actor and waits for its answer, on the
/// server's threads.
#pragma once

#include "actors/coordinator.hpp"
#include "actors/local_protocol.hpp"
#include "cli/node/host_port.hpp"
#include "monitor/http/http_server.hpp"

#include <functional>
#include <memory>
#include <string>

namespace ballast::cli {

/// `own_address` is filled in once the server is bound. `system` must outlive
/// the server.
monitor::http_handlers
coordinator_handlers(caf::actor_system& system,
                     const actors::local_coordinator_actor& whom,
                     std::shared_ptr<actors::record_slot> records,
                     std::shared_ptr<std::string> own_address);

/// Binds the server; its address. A port that is taken is no reason to end a
/// run which has begun: where `elsewhere` is there it hears of it, and the port
/// is a free one.
std::string serve(monitor::http_server& server, const host_port& where,
                  const monitor::http_handlers& handlers,
                  const std::function<void(const std::string&)>& elsewhere);

} // namespace ballast::cli
