/// What is known of the committed steps of a run, apart from which workers did
/// them: how many, their losses, and how fast they came. Plain data, copied
/// with every point to which the run can go back.
#pragma once

#include "runtime/ledger/commit.hpp"
#include "runtime/ledger/ledger.hpp"
#include "runtime/ledger/lineage.hpp"
#include "runtime/messages/judgement.hpp"
#include "runtime/messages/reports.hpp"

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace ballast::coordinator {

/// Of the steps that workers reported, each step once for each worker: those
/// whose gradient was of drawn rows (train.importance).
struct drawn_tally {
  uint64_t worker_steps = 0; // all
  uint64_t steps = 0;        // of these, with drawn rows
  uint64_t rows = 0;         // of these steps
  uint64_t gradient_rows = 0;
  void count(const progress_report& report);
};

struct run_tally {
  uint64_t samples = 0;        // committed
  ledger::committed_step last; // newest committed step
  double epoch_loss_sum = 0;
  uint64_t epoch_samples = 0;
  uint64_t epoch_loss_samples = 0;  // of steps whose loss is known
  uint64_t lineage = 0;             // digest of all steps: lineage.hpp
  std::optional<double> train_loss; // mean over the last full epoch
  std::optional<evaluation_report> test;
  /// Of the evaluations after steps before `last`; and those that it does not
  /// know yet, ascending. Reports of an evaluation overtake those of the steps
  /// before it.
  judgement judged;
  std::vector<evaluation_report> unjudged;
  /// Steps whose duration is known: the time since the step before, where no
  /// downtime and no undone step lies between the two.
  uint64_t timed_samples = 0;
  uint64_t timed_ns = 0;     // without evaluations
  uint64_t evaluated_ns = 0; // since the last step
  bool timed = false;        // the next step follows `last` without a break
  drawn_tally drawn;         // since this coordinator began

  /// True if the step ended an epoch of `rows`.
  bool count(const ledger::committed_step& step, uint64_t rows);
  /// Samples of the timed steps over their time; 0 where there is none.
  uint64_t samples_per_s() const;
  /// Of the state behind the last step.
  ledger::checkpoint_identity identity() const;
};

/// A step to which the run can go back: its state is on the disk, or in memory,
/// or is the first one, which the seed makes.
struct restart_point {
  std::string checkpoint; // its file; empty: from the seed
  run_tally tally;
  std::optional<ledger::ledger> book; // none before the first plan
  bool in_memory = false; // of the coordinator's host; gone with that
  step_number step() const { return tally.last.step; }
};

/// Samples per second over the newest ten seconds of committed steps.
class sliding_rate {
public:
  /// `samples` of the run so far, the step at `t_ns` included.
  void count(uint64_t t_ns, uint64_t samples);
  void restart() { marks_.clear(); }
  uint64_t per_s() const;

private:
  struct mark {
    uint64_t t_ns = 0;
    uint64_t samples = 0;
  };
  std::deque<mark> marks_; // about 100 ms apart, ascending
  mark newest_;
};

} // namespace ballast::coordinator
