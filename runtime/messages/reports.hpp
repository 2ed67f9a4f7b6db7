/// What a worker reports to the coordinator, as plain values without CAF. Every
/// report carries the generation it belongs to; the coordinator drops those of
/// an earlier one. All of them travel as one `worker_report`: a new kind is a
/// struct here with its fields() in the order in which they travel, a member of
/// the variant, and its `on` in runtime/coordinator/ (transitions.hpp).
#pragma once

#include "runtime/base/errors.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/ledger/commit.hpp"
#include "runtime/ledger/ledger.hpp"
#include "runtime/messages/bit_reports.hpp"
#include "runtime/messages/chunk_reports.hpp"
#include "runtime/messages/dead_link.hpp"
#include "runtime/messages/evaluation_report.hpp"
#include "runtime/messages/node_reports.hpp"

#include <cstdint>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

namespace ballast {

/// Data and model are here and the rank listens: "connect me".
struct worker_loaded {
  worker_id worker{};
  ballast::generation generation{};
  std::string collective_address; // of its end of the gradient plane
  std::string data_address;       // of its chunk service, "host:port"
  uint64_t state_bytes = 0;       // of all values of the training state
  /// Of the reduction canonical, a digest of what this worker computes of a
  /// made-up leaf: equal on all workers. Else empty.
  std::string probe = {};
  auto fields() {
    return std::tie(worker, generation, collective_address, data_address,
                    state_bytes, probe);
  }
};

/// What one take cost this worker, waiting for others excluded.
struct take_cost {
  uint32_t rows = 0;
  uint64_t compute_ns = 0; // and waiting for its rows
  /// Of these, while the computing thread could run and other threads had the
  /// cores; 0 where the kernel does not say.
  uint64_t waited_ns = 0;
  auto fields() { return std::tie(rows, compute_ns, waited_ns); }
};

/// What a worker did since its last report; at most 100 ms old.
struct progress_report {
  worker_id worker{};
  ballast::generation generation{};
  std::vector<ledger::step_record> steps;
  uint64_t rows = 0; // consumed by this worker
  uint64_t data_ns = 0;
  uint64_t compute_ns = 0; // without waiting for others
  uint64_t reduce_ns = 0;
  uint64_t apply_ns = 0;
  std::vector<take_cost> costs; // of the newest of `steps`
  /// Room for chunks in this worker's memory.
  uint64_t store_free_bytes = UINT64_MAX;
  /// Of what it read meanwhile, most came from there.
  rows_source rows_from = rows_source::unknown;
  /// Of reading what was not in memory, as far as it is over.
  uint64_t read_bytes = 0;
  uint64_t read_ns = 0;
  /// Of `steps` those in which this worker computed the gradient of some of its
  /// rows only (train.importance), its rows of them, and those with a gradient.
  uint64_t drawn_steps = 0;
  uint64_t drawn_from = 0;
  uint64_t drawn_rows = 0;
  auto fields() {
    return std::tie(worker, generation, steps, rows, data_ns, compute_ns,
                    reduce_ns, apply_ns, costs, store_free_bytes, rows_from,
                    read_bytes, read_ns, drawn_steps, drawn_from, drawn_rows);
  }
};

/// All ranks stand still after the same step.
struct worker_paused {
  worker_id worker{};
  ballast::generation generation{};
  step_number step{}; // last applied
  auto fields() { return std::tie(worker, generation, step); }
};

/// The last step is applied; the worker keeps its state until released.
struct worker_finished {
  worker_id worker{};
  ballast::generation generation{};
  step_number step{};
  bool stopped = false;         // on request, before the last epoch's end
  std::string weights_digest;   // empty: alone, so nobody has to agree
  std::string best_digest = {}; // likewise, of what keep.best kept
  auto fields() {
    return std::tie(worker, generation, step, stopped, weights_digest,
                    best_digest);
  }
};

/// The state after this step is copied and can be fetched as "checkpoint-STEP";
/// by rank 0.
struct state_copied {
  worker_id worker{};
  ballast::generation generation{};
  step_number step{};
  auto fields() { return std::tie(worker, generation, step); }
};

struct worker_failed {
  worker_id worker{};
  ballast::generation generation{};
  errc code = errc::internal;
  std::string message;
  /// Of a step that must not be applied: which, and what this worker fed to it.
  step_number step{};
  std::vector<uint64_t> sample_ids;
  /// The kernel says that the process of this rank is gone; -1: it does not.
  int32_t lost_rank = -1;
  /// Of the collective, as this worker found them; none: for another reason.
  std::vector<dead_link> links = {};
  /// The collective did not open because this worker lacks something, as file
  /// descriptors, and no other can help it.
  bool own_trouble = false;
  auto fields() {
    return std::tie(worker, generation, code, message, step, sample_ids,
                    lost_rank, links, own_trouble);
  }
};

/// This newcomer has received the training state, before it is ready.
struct state_arrived {
  worker_id worker{};
  ballast::generation generation{};
  uint64_t bytes = 0;
  uint64_t wall_ns = 0;
  auto fields() { return std::tie(worker, generation, bytes, wall_ns); }
};

/// The collective is open and the parameters are those of `base`.
struct worker_ready {
  worker_id worker{};
  ballast::generation generation{};
  step_number base{};
  auto fields() { return std::tie(worker, generation, base); }
};

/// The answer to a fence: nothing of a generation up to `level` is applied
/// here any more. What the worker holds is what this says, until it is told to
/// go on.
struct final_ack {
  worker_id worker{};
  ballast::generation level{};
  /// False: the worker cannot vouch for its parameters (it has none yet, or
  /// they were being received); it counts as a joiner.
  bool holds_state = false;
  step_number step{};                       // last applied
  std::vector<ledger::step_record> records; // later than the fence's `known`
  /// Of steps later than the fence's `evaluated`, oldest first: their reports
  /// may have met nobody.
  std::vector<evaluation_report> evaluations;
  /// `records` are not all: the coordinator takes these and sends the fence
  /// again, with the last of them as `known`. Only the last part counts as the
  /// answer.
  bool more = false;
  /// Of the collective that it was opening: over which nothing went.
  std::vector<dead_link> links = {};
  /// It received its state: what the last step exchanged is not here, and it
  /// can bring nobody who is one step behind to it.
  bool lacks_last_step = false;
  auto fields() {
    return std::tie(worker, level, holds_state, step, records, evaluations,
                    more, links, lacks_last_step);
  }
};
/// No answer to a fence tells of more steps than this.
constexpr size_t records_told_max = 65'536;

using worker_report =
    std::variant<worker_loaded, state_arrived, worker_ready, final_ack,
                 progress_report, evaluation_report, worker_paused,
                 worker_finished, worker_failed, state_copied, chunks_fetched,
                 parameters_digested, leaves_contradicted>;

} // namespace ballast
