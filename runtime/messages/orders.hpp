/// What the coordinator tells a worker, as plain values without CAF. Every
/// order carries the coordinator's term and a generation; a worker drops lower
/// ones. actors/protocol.hpp says when each is sent.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/base/shared_value.hpp"
#include "runtime/ledger/ledger.hpp"
#include "runtime/ledger/plan.hpp"
#include "runtime/messages/judgement.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ballast {

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
  std::string run_folder;     // reachable by this node, else empty
  std::string job;            // JSON, every default filled in
  std::string origin;         // chunk service that has every chunk, "host:port"
  std::string cached_as;      // a machine whose cache has this reads it there
  std::string token;          // of the run's data and gradient planes
  uint32_t local_workers = 1; // of this run on its host, itself included
  uint32_t heartbeat_ms = 200;
  uint32_t orphan_s = 0; // so long it waits for a coordinator that died
  ledger::position start;
  shared_value<ledger::plan> first;
  /// Where each rank's share stands at `start`; empty = nothing consumed.
  shared_value<std::vector<ledger::worker_cursor>> cursors;
  /// Beside the generation that trains now: get ready for this one while it
  /// goes on. Where it starts is told at the switch.
  bool beside = false;
  /// Nobody holds a state worth keeping: make the first one from the seed,
  /// whatever is here.
  bool from_seed = false;
  /// Nor here: begin with the checkpoint that the origin serves.
  bool from_checkpoint = false;
  /// What sums the gradients of this generation: never "auto".
  std::string collective;
  /// Most bytes of chunks that this worker is to hold; 0 = what it finds free.
  uint64_t store_limit_bytes = 0;
};

/// Every rank listens: join them, bring everybody's state to the one before the
/// first step, answer worker_ready, and begin.
struct connect_order {
  ballast::term term{};
  ballast::generation generation{};
  shared_value<std::vector<std::string>> addresses; // by rank
  /// Ranks that lack the state; `source` sends it to them.
  std::vector<uint32_t> stale;
  /// Ranks whose state is one step behind; `source` sends them the reduced
  /// gradient of that step, and they apply it. They never stand without a
  /// state, also if that fails.
  std::vector<uint32_t> late;
  uint32_t source = 0;
  /// The evaluation after this step, the one before the first, is still to be
  /// done; 0 = none.
  step_number evaluate{};
  bool paused = false; // stand still before the first step
  /// Of the evaluations before; at a switch who sends the state tells it.
  judgement judged = {};
};

/// Stop every generation up to `level`, apply nothing more, say what you hold.
struct fence_order {
  ballast::term term{};
  ballast::generation level{};
  step_number known{};     // later steps are to be told of in the answer,
  step_number evaluated{}; // and the evaluations after later ones
  std::string reason;
};

enum class command_kind : uint8_t {
  pause,      // by lane: all stop after the same step
  resume,     //
  stop,       // by lane: all finish after the same step
  release,    // the run is over for this worker; drop its state
  leave,      // it has left the run: drop the state, end
  abandon,    // the run failed; leave every wait, drop the state
  checkpoint, // rank 0: copy the state after the step in flight
  expel,      // excluded from the cluster: drop the state, join again as new
  kill,       // a fault on purpose: end as by kill -9
  stall,      // a fault on purpose: stand still for `seconds`
  slow,       // a fault on purpose: compute takes `factor` times as long
  damage,     // a fault on purpose: the next `chunks` that it serves
  dismiss,    // no more part in this run: drop the state; wait for the next
  recorded,   // the coordinator has `step` and those before on its disk
  unpause,    // a pause is withdrawn that is not complete yet
  flip,       // a fault on purpose: a bit in the next `leaves` that it computes
};
std::string to_string(command_kind kind);

struct command {
  ballast::term term{};
  ballast::generation generation{};
  command_kind kind = command_kind::release;
  std::string reason;
  double seconds = 0;
  double factor = 1;
  uint64_t chunks = 0;
  step_number step{};
  uint64_t leaves = 0;
};

/// Chunks that a worker is to own soon: copy them beside training, at a bounded
/// rate, then answer chunks_fetched. A later order replaces an earlier one.
struct fetch_order {
  ballast::term term{};
  ballast::generation generation{};
  plan_number number{}; // of the plan that will need them
  struct source {
    std::string name;                     // of a worker that has them
    std::string address;                  // its chunk service
    std::vector<ledger::interval> pieces; // their chunks travel whole
  };
  std::vector<source> sources;
  uint64_t bytes_per_s = 0; // 0 = no limit
};

/// A pending plan; a worker installs it, then contributes to its lane.
struct plan_offer {
  ballast::term term{};
  ledger::plan what;
};

} // namespace ballast
