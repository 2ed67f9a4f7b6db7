#include "runtime/coordinator/progress.hpp"

#include "runtime/base/check.hpp"

#include <algorithm>

namespace ballast::coordinator {

void progress::restore(const past_run& past, run_tally tally,
                       std::optional<ledger::ledger> book) {
  tally_ = tally;
  book_ = std::move(book);
  sound_ = !past.steps.empty() || past.undone > 0 ||
           std::any_of(past.plans.begin(), past.plans.end(),
                       [](const past_plan& one) {
                         return one.effective && value(one.effective->step) > 1;
                       });
  recoveries_ = past.recoveries;
  tally_.test = past.test;
  for (const evaluation_report& one : past.evaluations)
    if (judge_.judges() && one.step > tally_.judged.judged)
      tally_.unjudged.push_back(one);
  const plan_number in_force = book_ ? book_->current().number : plan_number{};
  for (const past_plan& one : past.plans) {
    if (one.body.number < in_force)
      continue;
    plans_[one.body.number] = one.body;
    if (!one.effective)
      offered_.insert(one.body.number);
  }
}

void progress::go_back(const restart_point& point) {
  if (tally_.last.step > point.step())
    undone_ = tally_.last.step;
  tally_ = point.tally;
  tally_.unjudged.clear();
  // Told of before the steps up to it were: it is evaluated again.
  if (tally_.test && tally_.test->step > tally_.judged.judged &&
      judge_.judges())
    tally_.test.reset();
  ahead_.reset();
  tally_.timed = false;
  rate_.restart();
  book_ = point.book;
  forget_plans();
}

void progress::forget_plans() {
  plans_.clear();
  offered_.clear();
  if (book_)
    plans_[book_->current().number] = book_->current();
}

void progress::open_book(const ledger::ledger_config& rows,
                         const ledger::plan& first) {
  if (!book_)
    book_.emplace(rows, first);
}

void progress::offer(const ledger::plan& what) {
  issue(what);
  offered_.insert(what.number);
}

/// The plan of the next step.
void progress::enter(ledger::ledger& book, plan_number number) const {
  if (number == book.current().number)
    return;
  auto refused = book.switch_to(plans_.at(number));
  BALLAST_CHECK(!refused, "an applied plan must fit: " + *refused);
}

ledger::ledger
progress::book_after(const std::vector<ledger::committed_step>& steps) const {
  ledger::ledger out = *book_;
  for (const ledger::committed_step& step : steps) {
    enter(out, step.plan);
    out.advance();
  }
  return out;
}

ledger::ledger progress::book_under(plan_number number) const {
  ledger::ledger out = *book_;
  enter(out, number);
  return out;
}

ledger::position progress::behind(step_number base) const {
  uint64_t per_epoch = book_->steps_per_epoch();
  return {epoch_number{value(base) / per_epoch + 1}, next(base)};
}

bool progress::commit(const ledger::committed_step& step, uint64_t rows) {
  sound_ = true;
  if (ahead_ && ahead_->current().number == step.plan &&
      ahead_->next() == book_->next())
    book_ = *std::exchange(ahead_, std::nullopt);
  else
    enter(*book_, step.plan);
  book_->advance();
  tally_.lineage = lineage_after(
      tally_.lineage, step,
      step.plan == tally_.last.plan ? nullptr : &book_->current());
  plans_.erase(plans_.begin(), plans_.lower_bound(book_->current().number));
  std::vector<evaluation_report>& unjudged = tally_.unjudged;
  while (!unjudged.empty() && unjudged.front().step < step.step) {
    judge_.hear(tally_.judged, unjudged.front());
    unjudged.erase(unjudged.begin());
  }
  const bool epoch_over = tally_.count(step, rows);
  rate_.count(step.t_ns, tally_.samples);
  return epoch_over;
}

bool progress::evaluated(const evaluation_report& report) {
  if (tally_.test && tally_.test->step >= report.step)
    return false;
  tally_.test = report;
  tally_.evaluated_ns += report.wall_ns;
  if (judge_.judges() && report.step < tally_.last.step) // it comes late
    judge_.hear(tally_.judged, report);
  else if (judge_.judges())
    tally_.unjudged.push_back(report);
  return true;
}

step_number progress::evaluation_owed(
    const evaluation_schedule& due,
    const std::vector<ledger::committed_step>& inherited) const {
  const step_number last = inherited.empty()
                               ? step_number{value(book_->next().step) - 1}
                               : inherited.back().step;
  const bool done = tally_.test && tally_.test->step >= last;
  return done || !due.is_due(last) ? step_number{} : last;
}

void progress::tell_thinned(outbox& out, run_event what, bool last,
                            instant now) {
  thinned& one = thinned_[what.index()];
  bool told = one.budget.take(now) || last;
  if (told) {
    one.untold.reset();
    out.tell(std::move(what));
  } else {
    one.untold = std::move(what);
  }
}

void progress::tell_untold(outbox& out) {
  for (auto& [kind, one] : thinned_)
    if (auto untold = std::exchange(one.untold, std::nullopt))
      out.tell(std::move(*untold));
}

} // namespace ballast::coordinator
