/// How far a run is: the committed steps, the ledger behind them, the plans
/// that were issued, the evaluations. Only what is committed counts. Begun anew
/// with each run; pure.
#pragma once

#include "runtime/base/event_budget.hpp"
#include "runtime/coordinator/outbox.hpp"
#include "runtime/coordinator/past_steps.hpp"
#include "runtime/coordinator/run_tally.hpp"
#include "runtime/messages/evaluation_schedule.hpp"
#include "runtime/messages/judge.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ballast::coordinator {

class progress {
public:
  // -- what is committed
  const run_tally& tally() const { return tally_; }
  const ledger::committed_step& last() const { return tally_.last; }
  /// The ledger behind the last committed step; none before the first plan.
  const std::optional<ledger::ledger>& book() const { return book_; }
  /// A step was committed once, also if it is undone now.
  bool sound() const { return sound_; }
  /// The last one that was undone, when the run last went back.
  step_number undone() const { return undone_; }
  /// Samples per second over the newest steps.
  uint64_t rate() const { return rate_.per_s(); }
  /// The newest committed step, were its state on the disk.
  restart_point here() const { return {{}, tally_, book_}; }
  const std::vector<std::pair<std::string, double>>& recoveries() const {
    return recoveries_; // reason, ms
  }

  // -- where it begins, and begins again
  /// `lineage`: before the first step; `by`: of the job.
  void begin(uint64_t lineage, const judge& by) {
    tally_.lineage = lineage;
    judge_ = by;
  }
  /// As an earlier life left it.
  void restore(const past_run& past, run_tally tally,
               std::optional<ledger::ledger> book);
  /// What was shown after that point is undone.
  void go_back(const restart_point& point);
  /// No worker holds the state any more, and the disk does.
  void forget_plans();
  /// The next step does not follow the last one without a break.
  void interrupted() { tally_.timed = false; }
  void recovered(const std::string& reason, double ms) {
    recoveries_.emplace_back(reason, ms);
  }

  // -- plans
  void open_book(const ledger::ledger_config& rows, const ledger::plan& first);
  void issue(const ledger::plan& what) { plans_[what.number] = what; }
  /// Not in force yet.
  void offer(const ledger::plan& what);
  const ledger::plan& issued(plan_number number) const {
    return plans_.at(number);
  }
  /// True if it was offered and not known to be in force.
  bool take_effect(plan_number number) { return offered_.erase(number) > 0; }
  /// The ledger behind those steps, which follow the last committed one.
  ledger::ledger
  book_after(const std::vector<ledger::committed_step>& steps) const;
  /// Where a new generation begins, under its plan: its first step finds it
  /// made. To follow the draws of hundreds of workers takes a millisecond.
  void begins(ledger::ledger ahead) { ahead_ = std::move(ahead); }
  /// The ledger at the next step, under that plan.
  ledger::ledger book_under(plan_number number) const;
  /// Of the step behind `base`.
  ledger::position behind(step_number base) const;

  // -- steps and evaluations
  /// What a worker says of its part in them.
  void reported(const progress_report& of) { tally_.drawn.count(of); }
  /// True if it ended an epoch of `rows`.
  bool commit(const ledger::committed_step& step, uint64_t rows);
  /// False if it is known. Equal on every rank: the first word counts, even if
  /// its worker dies before the others speak.
  bool evaluated(const evaluation_report& report);
  /// The last step, of `inherited` or else of all, if no worker has reported
  /// the evaluation that is due after it; else 0.
  step_number
  evaluation_owed(const evaluation_schedule& due,
                  const std::vector<ledger::committed_step>& inherited) const;

  // -- events that quick epochs would fill the disk with
  /// One that is left out is still written at the end of the run, if no newer
  /// one was. `last`: of the run.
  void tell_thinned(outbox& out, run_event what, bool last, instant now);
  void tell_untold(outbox& out);

private:
  void enter(ledger::ledger& book, plan_number number) const;

  run_tally tally_;
  judge judge_{job{}}; // judges nothing
  std::optional<ledger::ledger> book_;
  std::optional<ledger::ledger>
      ahead_; // of the newest plan, while it has no step
  std::map<plan_number, ledger::plan>
      plans_;                     // issued, and not older than the book's
  std::set<plan_number> offered_; // of these, not journaled as effective
  sliding_rate rate_;
  bool sound_ = false;
  step_number undone_{};
  std::vector<std::pair<std::string, double>> recoveries_;
  struct thinned { // written if the budget has room, the newest one at the end
    event_budget budget;
    std::optional<run_event> untold;
  };
  std::map<size_t, thinned> thinned_; // by place in run_event
};

} // namespace ballast::coordinator
