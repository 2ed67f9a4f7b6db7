/// What coordinator, shard manager and workers say to each other, as plain
/// values without CAF. Every message carries the generation it belongs to, and
/// what the coordinator sends also its term: a receiver drops lower ones.
/// actors/protocol.hpp says which actor takes which of these, and when.
#pragma once

#include "runtime/errors.hpp"
#include "runtime/ids.hpp"
#include "runtime/ledger.hpp"
#include "runtime/plan.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ballast {

// -- worker -> coordinator ----------------------------------------------------

/// A node introduces itself. Only equal builds may join one cluster.
struct worker_hello {
  std::string name;
  uint32_t pid = 0;
  std::string host;
  std::string device;
  std::string build_id;
  std::string metrics_address; // "http://host:port"
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
  finished, // keeps its state until released
};
std::string to_string(worker_phase phase);

/// Sent every heartbeat_ms by a thread that never waits for a step.
struct heartbeat {
  worker_id worker{};
  ballast::generation generation{};
  step_number step{}; // the one in flight
  worker_phase phase = worker_phase::idle;
  uint64_t since_ns = 0; // CLOCK_MONOTONIC of the node when the phase began
};

/// Data and model are here and the rank listens: "connect me".
struct worker_loaded {
  worker_id worker{};
  ballast::generation generation{};
  std::string collective_address; // of its end of the gradient plane
  std::string data_address;       // of its chunk service, "host:port"
};

/// One applied step, as this worker saw it.
struct step_record {
  step_number step{};
  epoch_number epoch{};
  plan_number plan{};
  uint64_t samples = 0; // of all workers
  double loss = 0;      // mean over those samples
  uint64_t t_ns = 0;    // CLOCK_MONOTONIC when it was applied
};

/// What a worker did since its last report; at most 100 ms old.
struct progress_report {
  worker_id worker{};
  ballast::generation generation{};
  std::vector<step_record> steps;
  uint64_t rows = 0; // consumed by this worker
  uint64_t data_ns = 0;
  uint64_t compute_ns = 0; // without waiting for others
  uint64_t reduce_ns = 0;
  uint64_t apply_ns = 0;
  /// Where the worker stands after the last of `steps`; empty between
  /// snapshots.
  std::vector<worker_cursor> snapshot;
};

/// Result of the read-only collective at an epoch's end; equal on every rank.
struct evaluation_report {
  worker_id worker{};
  ballast::generation generation{};
  epoch_number epoch{};
  double loss = 0;
  double accuracy = 0; // of classes; not meaningful for regression
  uint64_t rows = 0;
  uint64_t wall_ns = 0;
};

/// All ranks stand still after the same step.
struct worker_paused {
  worker_id worker{};
  ballast::generation generation{};
  step_number step{}; // last applied
};

/// The last step is applied; the worker keeps its state until released.
struct worker_finished {
  worker_id worker{};
  ballast::generation generation{};
  step_number step{};
  bool stopped = false; // on request, before the last epoch's end
  std::string weights_sha256;
  worker_cursor cursor;
};

struct worker_failed {
  worker_id worker{};
  ballast::generation generation{};
  errc code = errc::internal;
  std::string message;
};

// -- coordinator -> worker ----------------------------------------------------

struct welcome {
  worker_id worker{};
  uint32_t incarnation = 0;
  ballast::term term{};
  uint32_t heartbeat_ms = 0;
};

/// Everything a worker needs to load its part of a run.
struct assignment {
  ballast::term term{};
  ballast::generation generation{};
  worker_id worker{};
  std::string name;
  uint32_t incarnation = 0;
  std::string run;
  std::string run_folder; // reachable by this node, else empty
  std::string job;        // JSON, every default filled in
  std::string origin;     // chunk service that has every chunk, "host:port"
  std::string token;      // of the run's data and gradient planes
  uint32_t threads = 1;   // compute threads
  uint32_t heartbeat_ms = 200;
  position start;
  plan first;
};

/// Every rank listens; join them and begin with the first step.
struct connect_order {
  ballast::term term{};
  ballast::generation generation{};
  std::vector<std::string> addresses; // by rank
};

enum class command_kind : uint8_t {
  pause,   // by lane: all stop after the same step
  resume,  //
  stop,    // by lane: all finish after the same step
  release, // the run is over for this worker; drop its state
  abandon, // the run failed; leave every wait, drop the state
};
std::string to_string(command_kind kind);

struct command {
  ballast::term term{};
  ballast::generation generation{};
  command_kind kind = command_kind::release;
  std::string reason;
};

/// A pending plan; a worker installs it, then contributes to its lane.
struct plan_offer {
  ballast::term term{};
  plan what;
};

// -- coordinator <-> shard manager --------------------------------------------

/// What the coordinator needs to know of a prepared data set.
struct set_summary {
  std::string content_id;
  std::string origin; // address of the chunk service that has all of it
  uint64_t train_rows = 0;
  uint64_t test_rows = 0;
  uint32_t classes = 0;
  std::vector<uint32_t> chunk_rows;
  double prepare_s = 0;
};

/// How one worker's share looks under a plan.
struct share_summary {
  worker_id worker{};
  uint64_t rows_owned = 0;
  double skew_tv = 0;
};

} // namespace ballast
