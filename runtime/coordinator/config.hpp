/// What a coordinator is told once, when its process starts.
#pragma once

#include "runtime/base/ids.hpp"

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

namespace ballast::coordinator {

struct coordinator_config {
  ballast::term term{1};
  std::string build_id;
  std::string token;
  std::chrono::milliseconds heartbeat{200};
  /// Somebody reports how a worker's process ended: wait for that a moment
  /// before calling a closed connection the reason.
  bool supervised = false;
  /// on_tick comes so often; a later one tells that this process stood still.
  /// 0: it comes at any time.
  std::chrono::milliseconds tick{0};
  /// Marks of the runs of this state folder that are over: their workers are
  /// free for another.
  std::set<std::string> ended_runs = {};
};

} // namespace ballast::coordinator
