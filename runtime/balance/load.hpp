/// The input and output of the shard manager's balancing: plain values.
/// actors/protocol.hpp defines when they are sent.
#pragma once

#include "runtime/balance/measured_rates.hpp"
#include "runtime/balance/rows_ahead.hpp"
#include "runtime/balance/shard_moves.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/ledger/plan.hpp"
#include "runtime/messages/messages.hpp"
#include "runtime/messages/reports.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ballast::balance {

/// The outcome of the last proposal.
enum class transfer_end : uint8_t {
  none,      // nothing was under way
  effective, // its plan is in force
  dropped,   // a change of membership, a fault or a request came first
  failed,    // a worker could not get its chunks
};

/// Rows that were not in a worker's memory and came there, and how long reading
/// them took.
struct rows_read {
  uint64_t bytes = 0;
  uint64_t ns = 0;
};

/// One worker since the last view.
struct worker_load {
  worker_id worker{};
  std::string name;
  uint64_t rows_left = 0; // owned and not consumed in this epoch
  std::vector<take_cost> costs;
  uint64_t store_free_bytes = UINT64_MAX;
  std::string device_trouble = {}; // may slow it down; empty: nothing
  std::vector<rows_read> reads = {};
};

/// A run while it trains. Sent every 50 ms.
struct load_view {
  ballast::generation generation{};
  plan_number number{}; // of the plan in force
  ledger::plan
      changed; // that plan, if the last view had another one; else no shares
  uint64_t now_ms = 0; // of a steady clock
  uint64_t steps_per_epoch = 0;
  uint64_t steps_left_in_epoch = 0;
  uint64_t steps_left = 0;       // of the run
  std::vector<uint64_t> step_us; // of the steps committed since the last view
  std::vector<worker_load> workers;       // by rank
  std::vector<link_copy> copies;          // of chunks, since the last view
  bool transfer = false;                  // a plan is under way
  transfer_end last = transfer_end::none; // since the last view
};

/// The outcome of a window.
enum class balance_code : uint8_t {
  planned,       // a plan is proposed
  at_optimum,    // no improvement is possible
  below_trigger, // an improvement is possible, but below the trigger
  not_sustained, // speeds changed too recently
  noise_floor,   // the deviation is within noise
  stale_report,  // the plan in force is not measured yet
  pending,       // a plan is under way
  dwell,         // the rows to move have moved recently
  payback,       // the rest of the run is too short
  epoch_end,     // too near the end of the epoch
  stalled,       // plans failed again and again; waits
  limited,       // out of reach with these chunks and rows
  no_room,       // the receivers have no memory left
  disabled,
  undecided, // broken off, or not looked at yet with these settings
};
std::string to_string(balance_code code);

/// The purpose of a plan; the first of several that apply.
enum class balance_cause : uint8_t {
  speed,    // the batch follows the speeds
  skew,     // labels are too far from those of the whole set
  size,     // one worker owns more than its part
  coverage, // one worker alone holds a class
};
std::string to_string(balance_cause cause);

/// A plan for the same workers, proposed by the shard manager.
struct balance_proposal {
  ballast::generation generation{};
  plan_number base{};               // of the plan that it changes
  std::vector<uint64_t> weights;    // by rank
  std::vector<shard_move> moves;    // empty if only weights change
  std::vector<share_summary> after; // by rank
  uint64_t moved_rows = 0;
  uint64_t moved_bytes = 0;
  /// The least number of rows to move for the resulting sizes and skew ...
  uint64_t bound_rows = 0;
  /// ... and the same since its round began, over all of its plans so far. A
  /// round is the response to one disturbance: the start, a change of members
  /// or of speed. Its number is that of the plan in force when it began.
  uint64_t round_bound_rows = 0;
  plan_number round{};
  uint64_t rate_bytes_per_s = 0;
  /// Who owns its rows before their bytes are there, and who waits for them; by
  /// rank.
  std::vector<rows_ahead> receivers;
  balance_cause cause = balance_cause::speed;
  std::string reason; // in words
};

/// The result of the last window, for status and metrics.
struct balance_state {
  balance_code code = balance_code::stale_report;
  double makespan_ratio = 1; // predicted step time over that of the best split
  double split_error = 0;    // its uncertainty, as a fraction of the step
  double skew_max = 0;
  uint64_t window = 0;        // number of the last one that ended
  std::vector<double> row_us; // by rank: cost of a row; 0 = unknown
  /// By rank: the rate at which chunks arrive; 0 = unknown.
  std::vector<double> copy_bytes_per_s;
  /// In words: what the code means here, and what would change it.
  std::string why;
  std::string would_change;
};

struct balance_answer {
  balance_state state;
  /// Valid only if the code is `planned`.
  balance_proposal proposal;
};

} // namespace ballast::balance
