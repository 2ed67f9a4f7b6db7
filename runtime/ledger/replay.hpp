/// Walks through a run again, step by step: which rows every worker consumed,
/// from the plans and the step count alone. The base of the audit.
#pragma once

#include "runtime/ledger/commit.hpp"
#include "runtime/ledger/ledger.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ballast {

/// A plan and the first step under it.
struct plan_in_force {
  plan body;
  position effective;
};

/// What `replay` and `audit` need to know of a run. Plans by number. One that
/// begins no later than an earlier one replaces it: a recovery came before a
/// step was done under that, or undid those that were.
struct recorded_run {
  ledger_config config;
  std::vector<plan_in_force> plans;
};

class replay {
public:
  /// Stands before step 1. error() says why where the plans do not fit.
  explicit replay(const recorded_run& run);

  /// Not empty once the record contradicts itself; nothing can be told then
  /// of what follows. Every other call needs it to be empty.
  const std::optional<std::string>& error() const { return error_; }
  /// The step that walk() will do, under the plan in force for it.
  const ledger& book() const { return *book_; }
  /// Does the step; rows by rank, replaced.
  void walk(std::vector<std::vector<row_ref>>& rows);

private:
  friend class ledger_walk;
  void begin_plans();
  void renew_sequences();

  std::optional<ledger> book_;
  std::vector<const plan_in_force*> plans_; // not replaced, ascending
  size_t next_plan_ = 0;                    // of plans_, not yet in force
  std::vector<sequence> sequences_;
  std::optional<std::string> error_;
};

/// Walks through the steps only: what steps.jsonl must say of each.
class ledger_walk {
public:
  explicit ledger_walk(const recorded_run& run) : replay_(run) {}

  const std::optional<std::string>& error() const { return replay_.error_; }
  /// Does the next step: what the ledger says of it, without loss and time; or
  /// nothing, see error(). `entered`: whether its plan is not that of the step
  /// before.
  std::optional<committed_step> walk(bool& entered);
  /// Behind the last step that was walked, under its plan: one that begins
  /// with the next step is not in force there. Needs a plan to have begun.
  const ledger& book() const { return *replay_.book_; }

private:
  replay replay_;
  plan_number last_plan_{};
};

} // namespace ballast
