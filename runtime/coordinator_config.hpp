/// What a coordinator is told once, when its process starts.
#pragma once

#include "runtime/ids.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace ballast {

struct coordinator_config {
  ballast::term term{1};
  std::string build_id;
  std::string token;
  std::chrono::milliseconds heartbeat{200};
  /// Somebody reports how a worker's process ended: wait for that a moment
  /// before calling a closed connection the reason.
  bool supervised = false;
  /// Cores of this host, shared among its workers.
  uint32_t cores = 1;
};

} // namespace ballast
