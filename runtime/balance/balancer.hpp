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
/// second holder (coverage.hpp). Pure: the time comes with the view. One per
/// run, owned by the shard manager.
#pragma once

#include "runtime/balance/arrival.hpp"
#include "runtime/balance/batch_split.hpp"
#include "runtime/balance/chunk_labels.hpp"
#include "runtime/balance/coverage.hpp"
#include "runtime/balance/fewest_moves.hpp"
#include "runtime/balance/load.hpp"
#include "runtime/balance/move_cause.hpp"
#include "runtime/balance/policy.hpp"
#include "runtime/balance/round_rest.hpp"
#include "runtime/balance/search_effort.hpp"
#include "runtime/balance/search_pause.hpp"
#include "runtime/balance/sizes.hpp"
#include "runtime/balance/speed.hpp"
#include "runtime/ledger/manifest.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ballast {

class balancer {
public:
  /// `labels`: of the set, where others use them, too; else it makes its own.
  balancer(balance_policy policy, std::shared_ptr<const manifest> set,
           std::shared_ptr<const chunk_labels> labels = {});

  /// Bounded work, whatever the size of the set. If `stop` says so the search
  /// is broken off, and nothing is decided; the view counts nevertheless.
  balance_answer observe(const load_view& view,
                         search_effort::stop_asked stop = {});

  // -- for explanations (explain.hpp); the plan exists after the first view
  const balance_state& state() const { return state_; }
  const balance_policy& policy() const { return policy_; }
  void set_policy(const balance_policy& policy) {
    policy_ = policy;
    moves_pause_ = coverage_pause_ = {}; // for the old settings
    rest_ = {};
    state_.code = balance_code::undecided;
  }
  uint64_t rate_bytes_per_s() const { return rate_bytes_per_s_; }
  const measured_rates& links() const { return links_; }
  /// How long these moves take, at the allowed rate and over these links.
  double copying_s(const std::vector<shard_move>& moves) const;
  const manifest& set() const { return *set_; }
  const chunk_labels& labels() const { return *labels_; }
  uint32_t chunk_rows_max() const { return chunk_rows_max_; }
  const std::optional<plan>& current() const { return plan_; }
  const label_counts& held() const { return held_; }
  const std::vector<double>& skew() const { return skews_; }
  const std::vector<lone_class>& held_alone() const { return lone_; }
  /// The last search for moves ran out of effort before it found any.
  bool was_cut_short() const { return cut_short_; }
  /// The newest view, without the measurements.
  const load_view& last_view() const { return last_view_; }
  const speed_estimate* speed_of(worker_id who) const;
  bool is_measured(size_t rank) const;
  /// Windows since the chunk moved; empty: long ago, or never.
  std::optional<uint64_t> windows_since_move(chunk_id id) const;
  /// Rows of the chunk moved to this rank recently, and stay for now.
  bool stays(chunk_id id, uint32_t rank) const;
  /// The skew above which rows of this rank move.
  double skew_trigger(size_t rank) const;
  split_view look_at_split() const;
  /// Whether the split should change, and the new split.
  balance_code decide_weights(const split_view& split,
                              std::vector<uint64_t>& weights) const;
  /// The least gain of a new split, as a fraction of the step.
  double split_gain_min() const;
  /// The least gain of a move of rows, as a fraction of the step.
  double gain_min() const;
  std::vector<uint64_t>
  wanted_sizes(const std::vector<uint64_t>& weights) const;
  /// By rank: the expected skew of a random share of the same size.
  const std::vector<double>& noise_floors() const { return noise_floors_; }

private:
  void take_in(const load_view& view);
  void new_plan(const plan& changed, bool same_round);
  void note_speeds(const plan& changed);
  void end_windows(const load_view& view);
  void adapt_rate();
  std::vector<uint64_t> takes_of(const plan& of) const;
  bool sustained() const;
  uint64_t speed_changes() const;
  sizes_request sizes_now(const std::vector<uint64_t>& weights) const;
  double lost_in_time(const sizes_request& request,
                      const std::vector<uint64_t>& sizes) const;
  bool may_follow_speed() const;
  balance_code wait_for_speeds(const split_view& split) const;
  void keep_everybody(split_view& split) const;
  std::string why_slower(const split_view& split) const;
  balance_code decide(const load_view& view, balance_proposal& out);
  move_cause find_cause(const split_view& split,
                        const std::vector<uint64_t>& weights) const;
  balance_code wait_for(const move_cause& cause, const split_view& split);
  balance_code decide_moves(const load_view& view, const split_view& split,
                            std::vector<uint64_t> weights,
                            balance_proposal& out);
  balance_code decide_coverage(const load_view& view, const split_view& split,
                               const std::vector<uint64_t>& weights,
                               balance_proposal& out);
  std::string in_words(const move_cause& cause, const aimed_moves& chosen,
                       bool to_measure) const;
  move_request how_to_move(const load_view& view) const;
  /// Whether rows of the chunk arrived at this rank.
  template <class Arrivals>
  bool came(const Arrivals& of, chunk_id id, uint32_t rank) const {
    return of.contains({id, plan_->shares.at(rank).worker});
  }
  aimed_moves choose(const quota_request& request, move_request how) const;
  void cut_to_round(move_list& list) const;
  double error_of_takes() const;
  bool are_takes_sure() const;
  std::vector<uint64_t> weights_by_guess(const split_view& split) const;
  std::vector<size_t> too_few_to_measure() const;
  uint64_t rows_to_measure() const;
  bool cut_to_measure(move_list& list) const;
  bool moves_again(const move_list& list) const;
  balance_code nothing_moves(const move_list& list) const;
  balance_code pause(search_pause& which, balance_code why);
  std::vector<worker_id> ranks() const;
  uint64_t least_rows(const label_counts& from, const label_counts& to) const;
  void finish(balance_proposal& out, const split_view& split,
              std::vector<uint64_t> weights, std::string reason);
  balance_policy policy_;
  std::shared_ptr<const manifest> set_;
  std::shared_ptr<const chunk_labels> labels_;
  mutable search_effort effort_; // of this look
  std::optional<plan> plan_;
  label_counts held_;
  std::vector<lone_class> lone_;
  std::vector<double> skews_;
  std::vector<double> noise_floors_;
  uint64_t row_bytes_ = 1;       // mean
  uint64_t chunk_bytes_max_ = 0; // of the largest chunk
  uint32_t chunk_rows_max_ = 0;
  std::map<worker_id, speed_estimate> speeds_;
  balance_state state_;
  load_view last_view_;

  label_counts round_held_; // at the begin of the round
  plan_number round_{};
  generation placed_{};    // the newest generation in which rows moved
  double sizes_error_ = 0; // of the speeds by which sizes were right
  // Speed changes after which the split was good enough; empty: unknown.
  std::optional<uint64_t> settled_at_;
  uint64_t window_ = 0;
  uint64_t plan_window_ = 0; // when the plan in force appeared
  uint64_t window_begin_ms_ = 0;
  uint64_t window_steps_ = 0;
  std::vector<uint64_t> speed_plans_; // when weights changed, newest last
  std::vector<uint64_t> turns_;       // the same, only of reversals
  std::map<worker_id, double> trend_; // of weights, by the last change
  std::map<arrival, uint64_t> moved_; // the window of each recent arrival
  /// Rows given since the last plan for sizes and labels, to measure a worker
  /// or to cover a class; of whole chunks, all since speeds or members changed.
  /// The first part of the next plan leaves them in place.
  std::set<arrival> given_;
  struct {
    std::vector<arrival> arrivals;
    round_rest rest;
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
  measured_rates links_;
  uint64_t rate_bytes_per_s_;
  std::vector<uint64_t> calm_us_;   // newest steps without a transfer
  std::vector<uint64_t> moving_us_; // steps during this transfer
};

} // namespace ballast
