/// The shard manager's mind: watches how fast the workers compute and what they
/// hold, and says when weights should change or data should move. Three
/// questions, the cheapest first:
///
///   batch   how many rows of a batch each worker takes: by measured speed;
///           costs nothing
///   sizes   how many rows each worker owns: in proportion to what it takes,
///           so that all come to the end of an epoch together
///   skew    which rows: every worker's labels near the global distribution
///
/// The last two have one answer, the fewest rows moved (quota.hpp). Where
/// nothing of that is to be done, a class that one worker alone holds is given
/// to a second one (coverage.hpp). Pure: time comes with the view. One per run,
/// owned by the shard manager.
#pragma once

#include "runtime/balance/coverage.hpp"
#include "runtime/balance/fewest_moves.hpp"
#include "runtime/balance/load.hpp"
#include "runtime/balance/policy.hpp"
#include "runtime/balance/round_rest.hpp"
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
  balancer(balance_policy policy, std::shared_ptr<const manifest> set);

  balance_answer observe(const load_view& view);

  /// How the batch is split now, and how it could be.
  struct split_view {
    bool known = false; // every worker is measured
    std::vector<step_cost> costs;
    std::vector<uint64_t> takes; // of a full batch, under the plan in force
    batch_split best;
    double gain = 0;          // part of the step that the best split saves
    double error = 0;         // of the predicted time
    double lasting_error = 0; // likewise, for what is to last
  };

  // -- for explanations (explain.hpp); the plan is there once a view was
  const balance_state& state() const { return state_; }
  const balance_policy& policy() const { return policy_; }
  void set_policy(const balance_policy& policy) {
    policy_ = policy;
    moves_pause_ = coverage_pause_ = {}; // of searches for what was asked then
    rest_ = {};
  }
  uint64_t rate_bytes_per_s() const { return rate_bytes_per_s_; }
  const link_rates& links() const { return links_; }
  /// How long these moves take, at the allowed rate and over these links.
  double copying_s(const std::vector<shard_move>& moves) const;
  const manifest& set() const { return *set_; }
  uint32_t chunk_rows_max() const { return chunk_rows_max_; }
  const std::optional<plan>& current() const { return plan_; }
  const label_counts& held() const { return held_; }
  const std::vector<double>& skew() const { return skews_; }
  const std::vector<lone_class>& held_alone() const { return lone_; }
  /// The newest view, without what was measured.
  const load_view& last_view() const { return last_view_; }
  const speed_estimate* speed_of(worker_id who) const;
  bool is_measured(size_t rank) const;
  /// Windows since the chunk moved; empty: long ago, or never.
  std::optional<uint64_t> windows_since_move(chunk_id id) const;
  /// Rows of the chunk came to this rank, and are to stay for now.
  bool stays(chunk_id id, uint32_t rank) const;
  /// From which skew on rows of this rank move.
  double skew_trigger(size_t rank) const;
  split_view look_at_split() const;
  /// Whether the split should change; if so, to what.
  balance_code decide_weights(const split_view& split,
                              std::vector<uint64_t>& weights) const;
  /// What another split must win at least, part of the step.
  double split_gain_min() const;
  /// What rows that move must win at least, likewise.
  double gain_min() const;
  std::vector<uint64_t>
  wanted_sizes(const std::vector<uint64_t>& weights) const;
  /// By rank: the skew that so many rows have by chance.
  const std::vector<double>& noise_floors() const { return noise_floors_; }

private:
  /// Rows of a chunk that came to a worker.
  struct arrival {
    chunk_id chunk{};
    worker_id at{};
    friend auto operator<=>(const arrival&, const arrival&) = default;
  };
  /// A search that led to nothing is not made again at once, and ever later.
  struct search_pause {
    balance_code why = balance_code::at_optimum;
    uint64_t until = 0;   // window
    uint64_t windows = 1; // of the next one
  };
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
  balance_code decide_moves(const load_view& view, const split_view& split,
                            std::vector<uint64_t> weights,
                            balance_proposal& out);
  balance_code decide_coverage(const load_view& view, const split_view& split,
                               const std::vector<uint64_t>& weights,
                               balance_proposal& out);
  move_request how_to_move(const load_view& view) const;
  /// Whether rows of the chunk are among these, at the worker of this rank.
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
  balance_code search_later(search_pause& pause, balance_code why);
  std::vector<worker_id> ranks() const;
  uint64_t least_rows(const label_counts& from, const label_counts& to) const;
  void finish(balance_proposal& out, const split_view& split,
              std::vector<uint64_t> weights, std::string reason);
  balance_policy policy_;
  std::shared_ptr<const manifest> set_;
  std::optional<plan> plan_;
  label_counts held_;
  std::vector<lone_class> lone_;
  std::vector<double> skews_;
  std::vector<double> noise_floors_;
  uint64_t row_bytes_ = 1;       // in the mean
  uint64_t chunk_bytes_max_ = 0; // of the largest one
  uint32_t chunk_rows_max_ = 0;
  std::map<worker_id, speed_estimate> speeds_;
  balance_state state_;
  load_view last_view_;

  label_counts round_held_; // when the round began
  plan_number round_{};
  generation placed_{};    // the newest one in which rows moved
  double sizes_error_ = 0; // of the speeds by which sizes were right
  // The split was good enough, after so many changes of speed; empty: unknown.
  std::optional<uint64_t> settled_at_;
  uint64_t window_ = 0;
  uint64_t plan_window_ = 0; // in which the plan in force was seen first
  uint64_t window_begin_ms_ = 0;
  uint64_t window_steps_ = 0;
  std::vector<uint64_t> speed_plans_; // windows of changed weights, newest last
  std::vector<uint64_t> turns_; // likewise, of those that went back on the last
  std::map<worker_id, double> trend_; // of weights, by the last such change
  std::map<arrival, uint64_t> moved_; // windows of the newest ones
  /// Since the last plan for sizes and labels, to be measured or as a second
  /// holder: the first part of the next one leaves them where they are.
  std::set<arrival> given_;
  struct {
    std::vector<arrival> arrivals;
    round_rest rest;
    bool by_speed = false;    // it changes weights
    bool to_measure = false;  // it gives rows to be measured by
    bool for_holders = false; // of classes
  } proposed_;                // and under way
  round_rest rest_;           // of the plan in force
  search_pause moves_pause_;
  search_pause coverage_pause_;
  uint64_t alone_since_ = 0; // window; a class has one holder since then
  uint32_t failures_ = 0;
  uint64_t stalled_until_ = 0; // window

  link_rates links_;
  uint64_t rate_bytes_per_s_;
  std::vector<uint64_t> calm_us_;   // newest steps while nothing moved
  std::vector<uint64_t> moving_us_; // steps while this transfer moves
};

} // namespace ballast
