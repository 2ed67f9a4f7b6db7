/// The shard manager: owns the prepared data set of the current run, serves its
/// chunks over Flight as their origin, and decides who owns which interval.
/// Reading data happens on a thread of its own.
#pragma once

#include "actors/protocol.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace ballast {

struct shard_manager_config {
  std::string bind_host = "127.0.0.1";
  std::filesystem::path cache_folder;
  /// Told of what a user should know though the run goes on; any thread; may be
  /// empty.
  std::function<void(const std::string&)> warn;
  /// A handler threw: why, to end the process with; may be empty.
  std::function<void(const std::string&)> on_defect;
};

struct shard_manager_state {
  static inline const char* name = "shard_manager";
  struct parts; // the set, its service, the thread that made them
  std::shared_ptr<parts> current;
  uint32_t outdated = 0; // answers to come for sets that were dropped meanwhile
};

shard_manager_actor::behavior_type
shard_manager(shard_manager_actor::stateful_pointer<shard_manager_state> self,
              shard_manager_config config);

} // namespace ballast
