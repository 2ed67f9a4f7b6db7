/// What the supervisor says to the coordinator's process, line by line: each is
/// read here, once, and becomes a typed message.
#pragma once

#include "actors/local_protocol.hpp"
#include "cli/liveness.hpp"

#include <memory>

namespace ballast::cli {

/// Runs until the supervisor's end of the socket closes, which ends this
/// process.
[[noreturn]] void follow_supervisor(std::shared_ptr<liveness_socket> supervisor,
                                    caf::actor_system& system,
                                    actors::local_coordinator_actor whom);

} // namespace ballast::cli
