/// The planner of the shard manager. It watches how fast the workers compute
/// and which rows they own, and decides when weights change or rows move. Three
/// decisions, the cheapest first:
///
///   batch   how many rows of a batch each worker takes: by measured speed;
///           costs nothing
///   sizes   how many rows each worker owns: in proportion to its takes, so
///           that all workers end an epoch together
///   skew    which rows: every worker's labels near the global distribution
///
/// Sizes and skew have one solution, the one with the fewest moved rows
/// (quota.hpp). If neither needs a move, a class held by a single worker gets a
/// second holder (coverage.hpp). What a decision rests on is kept apart: speeds
/// (worker_speeds.hpp), the plan in force (plan_view.hpp), the copies
/// (copy_rate.hpp) and what arrived lately (recent_arrivals.hpp). Pure: the
/// time comes with the view. One per run, owned by the shard manager.
#pragma once

#include "runtime/balance/batch_split.hpp"
#include "runtime/balance/chunk_labels.hpp"
#include "runtime/balance/copy_rate.hpp"
#include "runtime/balance/fewest_moves.hpp"
#include "runtime/balance/load.hpp"
#include "runtime/balance/move_cause.hpp"
#include "runtime/balance/plan_view.hpp"
#include "runtime/balance/policy.hpp"
#include "runtime/balance/recent_arrivals.hpp"
#include "runtime/balance/round_rest.hpp"
#include "runtime/balance/search_effort.hpp"
#include "runtime/balance/search_pause.hpp"
#include "runtime/balance/sizes.hpp"
#include "runtime/balance/worker_speeds.hpp"
#include "runtime/ledger/manifest.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ballast::balance {

/// The set of a run, and the sizes by which moves are measured.
struct balanced_set {
  /// `labels`: of the set, where others use them, too; else it makes its own.
  explicit balanced_set(std::shared_ptr<const ledger::manifest> set,
                        std::shared_ptr<const chunk_labels> labels = {});

  std::shared_ptr<const ledger::manifest> chunks;
  std::shared_ptr<const chunk_labels> labels;
  uint64_t row_bytes = 1;       // mean
  uint64_t chunk_bytes_max = 0; // of the largest chunk
  uint32_t chunk_rows_max = 0;
};

class balancer {
public:
  balancer(balance_policy policy, std::shared_ptr<const ledger::manifest> set,
           std::shared_ptr<const chunk_labels> labels = {});

  /// Bounded work, whatever the size of the set. If `stop` says so the search
  /// is broken off, and nothing is decided; the view counts nevertheless.
  balance_answer observe(const load_view& view,
                         search_effort::stop_asked stop = {});

  const balance_policy& policy() const { return policy_; }
  void set_policy(const balance_policy& policy);

  // -- for explanations (explain.hpp)
  const balance_state& state() const { return state_; }
  const balanced_set& set() const { return set_; }
  const plan_view& now() const { return now_; }
  const worker_speeds& speeds() const { return speeds_; }
  const copy_rate& copying() const { return copying_; }
  const recent_arrivals& arrivals() const { return arrivals_; }
  /// The last search for moves ran out of effort before it found any.
  bool was_cut_short() const { return cut_short_; }
  /// The newest view, without the measurements.
  const load_view& last_view() const { return last_view_; }
  // Precondition of the following: a plan is in force.
  /// The skew above which rows of this rank move.
  double skew_trigger(size_t rank) const;
  split_view split() const;
  std::vector<uint64_t>
  wanted_sizes(const std::vector<uint64_t>& weights) const;

private:
  void take_in(const load_view& view);
  void end_transfer(const load_view& view);
  void new_plan(const ledger::plan& changed, bool same_round);
  void end_windows(const load_view& view);
  balance_code decide(const load_view& view, balance_proposal& out);
  move_cause find_cause(const split_view& split,
                        const std::vector<uint64_t>& weights) const;
  balance_code wait_for(const move_cause& cause, const split_view& split);
  balance_code wait_for_speeds(const split_view& split) const;
  balance_code decide_moves(const load_view& view, const split_view& split,
                            std::vector<uint64_t> weights,
                            balance_proposal& out);
  balance_code decide_coverage(const load_view& view, const split_view& split,
                               const std::vector<uint64_t>& weights,
                               balance_proposal& out);
  move_request how_to_move(const load_view& view) const;
  aimed_moves choose(const quota_request& request, move_request how) const;
  balance_code nothing_moves(const move_list& list) const;
  balance_code pause(search_pause& which, balance_code why);
  void finish(balance_proposal& out, const split_view& split,
              std::vector<uint64_t> weights, std::string reason);

  balance_policy policy_;
  const balanced_set set_;
  mutable search_effort effort_; // of this look
  plan_view now_;
  worker_speeds speeds_;
  copy_rate copying_;
  recent_arrivals arrivals_;
  balance_state state_;
  load_view last_view_;

  label_counts round_held_; // at the begin of the round
  plan_number round_{};
  generation placed_{};    // the newest generation in which rows moved
  double sizes_error_ = 0; // of the speeds by which sizes were right
  uint64_t window_ = 0;
  uint64_t plan_window_ = 0; // when the plan in force appeared
  uint64_t window_begin_ms_ = 0;
  uint64_t window_steps_ = 0;
  struct {
    std::vector<arrival> arrivals = {};
    round_rest rest = {};
    std::map<chunk_id, rows_ahead> receivers = {};
    bool by_speed = false;    // the plan changes weights
    bool to_measure = false;  // it gives rows by which to measure
    bool for_holders = false; // it gives classes a second holder
  } proposed_;                // the proposal under way
  round_rest rest_;           // of the plan in force
  bool cut_short_ = false;    // the last search for moves, without a result
  search_pause moves_pause_;
  search_pause coverage_pause_;
  uint64_t alone_since_ = 0; // window; a class has one holder since then
  uint32_t failures_ = 0;
  uint64_t stalled_until_ = 0; // a window
};

} // namespace ballast::balance
