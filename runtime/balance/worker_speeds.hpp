/// What is known about the speeds of all workers, and whether decisions may
/// rest on it: the split of the batch that follows them, when it is worth a
/// change, and when speeds are calm enough for rows to follow. Pure; one per
/// balancer, which tells it the time in windows.
#pragma once

#include "runtime/balance/batch_split.hpp"
#include "runtime/balance/load.hpp"
#include "runtime/balance/plan_view.hpp"
#include "runtime/balance/policy.hpp"
#include "runtime/balance/speed.hpp"
#include "runtime/base/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace ballast::balance {

class worker_speeds {
public:
  void add(const worker_load& measured);
  void end_window(uint64_t window, const balance_policy& policy);
  /// The next plan changes the weights to follow speeds. A change in the
  /// direction of the last one is a drift and worth following; one that
  /// reverses it may reverse again soon.
  void follow(const ledger::plan& before, const ledger::plan& next,
              uint64_t window);
  /// This plan is in force; forgets workers that it does not name.
  void new_plan(const plan_view& now, const balance_policy& policy);

  /// Null: it was never measured.
  const speed_estimate* of(worker_id who) const;
  bool is_measured(size_t rank) const;
  /// The newest take of some worker was an outlier.
  bool unsettled() const;
  /// The uncertainty by the takes alone, of the least known worker.
  double error_of_takes() const;
  /// A few takes of this split suffice if they agree.
  bool are_takes_sure(const balance_policy& policy) const;
  /// The weights followed speeds in this window or a later one.
  bool followed_in(uint64_t window) const;
  /// Data follow a change of speed at once; if speeds oscillate, after ever
  /// longer waits.
  bool may_move_rows(uint64_t window, const balance_policy& policy) const;

  /// The split under a plan with these takes, and the best one.
  split_view split(const std::vector<uint64_t>& takes,
                   const balance_policy& policy) const;
  /// The best one as if unmeasured workers had the median speed of the others.
  std::vector<uint64_t> guessed_split(const split_view& now,
                                      uint64_t global_batch) const;
  /// Whether the split should change to the best one: `planned`.
  balance_code judge(const split_view& now, uint64_t window,
                     const balance_policy& policy) const;
  /// Remembers if the present split is good enough at these speeds. A gain that
  /// did not justify a plan does not justify one later while speeds are
  /// unchanged; otherwise noise would cross the threshold some time.
  void settle(const split_view& now, const balance_policy& policy);
  /// The least gain of a new split, as a fraction of the step.
  double split_gain_min(const balance_policy& policy) const;
  /// The least gain of a move of rows, as a fraction of the step.
  double gain_min(const balance_policy& policy) const;

private:
  bool sustained(uint64_t window, const balance_policy& policy) const;
  uint64_t changes() const;

  std::map<worker_id, speed_estimate> speeds_;
  std::vector<worker_id> ranks_;          // of the plan in force
  std::vector<uint64_t> followed_;        // windows, the newest last
  std::vector<uint64_t> turns_;           // the same, only of reversals
  std::map<worker_id, double> trend_;     // of weights, by the last change
  std::optional<uint64_t> settled_after_; // so many changes of speed
};

} // namespace ballast::balance
