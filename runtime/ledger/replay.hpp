/// Replays a run step by step: computes which rows every worker consumed from
/// the plans and the step count alone. The base of the audit.
#pragma once

#include "runtime/ledger/commit.hpp"
#include "runtime/ledger/ledger.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ballast::ledger {

/// A plan and the first step under it.
struct plan_in_force {
  plan body;
  position effective;
};

/// The record of a run that `replay` and `audit` need. Plans by number. A plan
/// that begins no later than an earlier one replaces it: a recovery came before
/// the earlier plan had a step, or undid its steps.
struct recorded_run {
  ledger_config config;
  std::vector<plan_in_force> plans;
};

class replay {
public:
  /// Positioned before step 1. error() says why if the plans do not fit.
  explicit replay(const recorded_run& run);

  /// Set once the record contradicts itself; the rest cannot be replayed. All
  /// other calls require that it is empty.
  const std::optional<std::string>& error() const { return error_; }
  /// The step that walk() does next, under the plan in force for it.
  const ledger& book() const { return *book_; }
  /// Does the step; replaces `rows`, indexed by rank.
  void walk(std::vector<std::vector<row_ref>>& rows);

private:
  friend class ledger_walk;
  void begin_plans();
  void renew_orders();

  std::optional<ledger> book_;
  std::vector<const plan_in_force*> plans_; // not replaced, ascending
  size_t next_plan_ = 0;                    // of plans_, not yet in force
  std::vector<row_order> orders_; // by rank; of order global one for all
  std::optional<std::string> error_;
};

/// Replays the steps without their rows: the expected fields of each line of
/// steps.jsonl.
class ledger_walk {
public:
  explicit ledger_walk(const recorded_run& run) : replay_(run) {}

  const std::optional<std::string>& error() const { return replay_.error_; }
  /// Does the next step and returns its record without loss and time; or
  /// nothing, see error(). `entered`: whether its plan differs from that of the
  /// step before.
  std::optional<committed_step> walk(bool& entered);
  /// Positioned after the last step walked, under its plan; a plan that begins
  /// with the next step is not in force yet. Requires that a plan has begun.
  const ledger& book() const { return *replay_.book_; }

private:
  replay replay_;
  plan_number last_plan_{};
};

} // namespace ballast::ledger
