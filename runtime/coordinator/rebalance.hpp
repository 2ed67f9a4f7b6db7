/// How data and batch move between the workers of a generation: what is
/// measured for the shard manager, its answers, and what they came to. The
/// pending_rebalance itself is part of a state of `membership`. Begun anew with
/// each run; pure.
#pragma once

#include "runtime/coordinator/balance_account.hpp"
#include "runtime/coordinator/generation_state.hpp"

#include <optional>
#include <vector>

namespace ballast::coordinator {

/// Nobody looks at more steps or takes than this at once.
constexpr size_t load_steps_max = 4096;

class rebalance {
public:
  // -- what is measured, since the last view
  /// Ranks begin anew.
  void begin_generation(size_t world);
  void report(size_t rank, const progress_report& report);
  /// Between two committed steps.
  void step_took(uint64_t us);
  void copied(const balance::link_copy& copy);
  /// The newest report of a rank.
  const progress_report& newest(size_t rank) const { return newest_.at(rank); }

  // -- the shard manager
  /// It has not answered the last view yet.
  bool observing() const { return observing_; }
  /// What was measured, for its next look; names and ledger are left to the
  /// caller.
  balance::load_view look(const generation_state& members);
  /// False where no look was asked for.
  bool answered(balance::balance_state state);
  /// The last answer was overtaken by events, or its plan came to an end.
  void ended(balance::transfer_end how) { last_ = how; }

  // -- what balancing came to
  const balance_account& account() const { return account_; }
  void restore(balance_account account) { account_ = std::move(account); }
  /// The first shares of the run, or later ones.
  void placed(const std::vector<share_summary>& shares);
  /// A plan of the shard manager took effect.
  void count(const balance::plan_note::of_balance& what) {
    account_.count(what);
  }

private:
  std::vector<progress_report> newest_;     // by rank
  std::vector<balance::worker_load> loads_; // by rank
  std::vector<uint64_t> step_us_;
  std::vector<balance::link_copy> copies_;
  plan_number observed_{}; // of the plan that it last saw
  bool observing_ = false;
  balance::transfer_end last_ =
      balance::transfer_end::none; // that it does not know of yet
  balance_account account_;
};

} // namespace ballast::coordinator
