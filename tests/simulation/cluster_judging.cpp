// What evaluations decide: made-up losses, which depend on the step alone, so
// that a run must end after the same step whatever dies.
#include "tests/simulation/cluster_parts.hpp"

#include "runtime/base/random.hpp"
#include "runtime/messages/evaluation_schedule.hpp"
#include "runtime/messages/judge.hpp"

#include <algorithm>

namespace ballast::simulation {

namespace {

uint64_t steps_per_epoch(const cluster_options& of) {
  return (of.rows + of.global_batch - 1) / of.global_batch;
}

evaluation_schedule schedule(const cluster_options& of) {
  return {of.evaluate_every, steps_per_epoch(of), of.epochs};
}

evaluation_report evaluation_of(const cluster_options& of, step_number step) {
  evaluation_report out;
  out.step = step;
  out.epoch = epoch_number{(value(step) - 1) / steps_per_epoch(of) + 1};
  out.loss = double(mix(of.seed, value(step)) % 10); // some are equal
  return out;
}

} // namespace

void cluster::judging::evaluate(node_state& who) const {
  if (!in.options_.judged)
    return;
  const evaluation_report found =
      evaluation_of(in.options_, step_number{who.applied.size()});
  judge(in.what_).hear(who.judged, found);
  keep_best(who);
  who.evaluations.push_back(found);
  in.step_thread_reports(who, found);
}

void cluster::judging::keep_best(node_state& who) const {
  if (value(who.judged.keep.step) == who.applied.size())
    who.best = who.applied;
}

/// What is kept is the state after the step that was the best.
bool cluster::judging::is_over(node_state& who) const {
  if (!in.options_.judged)
    return false;
  const size_t best = value(who.judged.keep.step);
  if (best > who.applied.size() ||
      (best > 0 &&
       !std::equal(who.best.begin(), who.best.end(), who.applied.begin(),
                   who.applied.begin() + ptrdiff_t(best))))
    in.fail(who.name + " has kept " + std::to_string(who.best.size()) +
            " steps, the best are " + std::to_string(best));
  return !judge(in.what_).over(who.judged).empty();
}

void cluster::judging::told(const coordinator::run_event& what) const {
  if (const auto* one = std::get_if<coordinator::events::evaluated>(&what))
    in.disk_->evaluations[one->step] = evaluation_of(in.options_, one->step);
}

/// As if nothing had ever happened to it.
uint64_t cluster::judging::steps_to_do() const {
  const uint64_t all = in.options_.epochs * steps_per_epoch(in.options_);
  if (!in.options_.judged)
    return all;
  const judge by(in.what_);
  judgement so_far;
  for (uint64_t step = 1; step < all; ++step)
    if (schedule(in.options_).is_due(step_number{step})) {
      by.hear(so_far, evaluation_of(in.options_, step_number{step}));
      if (!by.over(so_far).empty())
        return step;
    }
  return all;
}

/// The best of that many steps.
void cluster::judging::check_best(step_number best, uint64_t steps) const {
  const judge by(in.what_);
  judgement expected;
  for (uint64_t step = 1; step <= steps; ++step)
    if (schedule(in.options_).is_due(step_number{step}))
      by.hear(expected, evaluation_of(in.options_, step_number{step}));
  if (best != expected.keep.step)
    in.fail("the model is that of step " + to_string(best) + ", the best is " +
            to_string(expected.keep.step));
}

} // namespace ballast::simulation
