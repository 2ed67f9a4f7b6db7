/// Data which no worker survives: a step whose loss is not finite, and samples
/// that are in flight whenever a worker dies by its own fault. Begun anew with
/// each run; pure.
///
/// No worker applies a step to which a member has not contributed everything.
/// So a worker that died was at the step behind those that the survivors hold,
/// whatever it had last reported.
#pragma once

#include "runtime/coordinator/node.hpp"
#include "runtime/coordinator/outbox.hpp"
#include "runtime/coordinator/roster.hpp"
#include "runtime/ledger/ledger.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ballast::coordinator {

/// No worker may apply this step; what each of them fed to it.
struct refused_step {
  step_number step{};
  errc code = errc::non_finite_loss;
  std::string why;
  instant until{};    // then no more is waited for
  generation under{}; // whose members these are
  std::map<worker_id, std::vector<uint64_t>> sample_ids;
};

class poison {
public:
  // -- deaths
  /// It died in the midst of a step.
  void died(worker_id who) { deaths_[who]; }
  /// The fence is over. `at`: the ledger behind what the survivors hold, and
  /// under the plan in force; none: which plan that was cannot be told.
  void locate(std::optional<ledger::ledger> at, uint64_t epochs);
  /// The run goes back: what the last ones were at is not known.
  void nobody_survived();
  /// How it died is known.
  void explain(worker_id who, const loss_cause& how);
  /// Counts every death of which all is known that ever will be; one too many
  /// with the same samples gives up the run. `back_to`: where the run goes
  /// back to.
  void judge(outbox& out, const roster& nodes, step_number back_to);
  /// Before a step is committed: its samples killed no worker. `at`: under its
  /// plan.
  void acquit(const ledger::ledger& at);
  bool died_any() const { return !deaths_.empty(); }
  bool suspects_any() const { return !suspects_.empty(); }
  const std::map<ledger::row_ref, uint32_t>& suspects() const {
    return suspects_;
  }
  /// All samples of the epoch are committed.
  void epoch_over() { suspects_.clear(); }
  /// The run will not go back behind it.
  void checkpoint_written() { deaths_in_vain_ = 0; }

  // -- a refused step
  /// True if it is the first word of it.
  bool refuse(const worker_failed& message, instant now);
  const std::optional<refused_step>& refused() const { return refused_; }
  /// It is done again, and refused again.
  void forget_refused() { refused_.reset(); }

  void excuse(instant away) {
    if (refused_)
      refused_->until += away;
  }

private:
  void judge(outbox& out, const std::string& name, step_death death,
             step_number back_to);

  std::optional<refused_step> refused_;
  std::map<worker_id, step_death> deaths_;
  /// Samples in flight when a worker died by its own fault, and how often; a
  /// step that is committed acquits its own.
  std::map<ledger::row_ref, uint32_t> suspects_;
  /// Deaths by their own fault of last workers, since the newest checkpoint.
  uint32_t deaths_in_vain_ = 0;
};

} // namespace ballast::coordinator
