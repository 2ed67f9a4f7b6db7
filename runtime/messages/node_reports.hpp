/// What a node says of itself, as plain values without CAF: who it is, and in
/// every heartbeat that it lives.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/messages/dead_link.hpp"
#include "runtime/messages/device_trouble.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ballast {

/// A node introduces itself. Only equal builds may join one cluster.
struct worker_hello {
  std::string name;
  uint32_t pid = 0;
  std::string host;
  std::string device;
  std::string build_id;
  std::string metrics_address; // "http://host:port"
  /// Who lost its coordinator says who it was, in which run, and the highest
  /// generation it heard of: it still has what it had. 0 = a new node.
  worker_id was{};
  std::string run = {};
  generation seen{};
  /// Of a GPU: which one it is among all hosts, and the NCCL it can use; empty:
  /// none (collective_choice.hpp).
  std::string gpu = {};
  std::string nccl = {};
  /// Of `run` (run_mark.hpp): the coordinator of another state folder may lead
  /// a run of the same name.
  std::string run_mark = {};
  /// The run that it was dismissed from: it takes no part in that one.
  std::string not_for = {};
  /// It was asked to end: it takes no new work.
  bool leaving = false;
  /// Tell this process from a later one of the same number: when it started, in
  /// ticks since the boot with this id (/proc).
  uint64_t start_ticks = 0;
  std::string boot_id = {};
  /// What processes of its host (or container) may use for a run, before this
  /// one uses any of it; 0 = not known.
  uint64_t memory_bytes = 0;
};

enum class worker_phase : uint8_t {
  idle,    // no job
  loading, // fetching chunks, building the model
  opening, // connecting the collective
  compute,
  reduce, // waiting for or doing the all-reduce
  apply,
  evaluate,
  paused,
  finished,  // keeps its state until released
  disk_full, // waits for space, to write its trace
};
std::string to_string(worker_phase phase);

/// Sent every heartbeat_ms by a thread that never waits for a step.
struct heartbeat {
  worker_id worker{};
  ballast::generation generation{};
  step_number step{}; // the one in flight
  worker_phase phase = worker_phase::idle;
  device_trouble trouble = {}; // of what it computes on
  /// Of a share on its way here: how much of it has arrived. Equal: nothing is.
  uint64_t share_bytes = 0;
  uint64_t arrived_bytes = 0;
  /// Of the collective that it is opening: over which nothing goes yet.
  std::vector<dead_link> silent = {};
};

} // namespace ballast
