// What evaluations decide: made-up losses, which depend on the epoch alone, so
// that a run must end after the same epoch whatever dies.
#include "tests/simulation/cluster_parts.hpp"

#include "runtime/base/random.hpp"
#include "runtime/messages/judge.hpp"

#include <algorithm>

namespace ballast::simulation {

namespace {

evaluation_report evaluation_of(uint64_t seed, epoch_number epoch) {
  evaluation_report out;
  out.epoch = epoch;
  out.loss = double(mix(seed, value(epoch)) % 10); // some are equal
  return out;
}

} // namespace

void cluster::judging::evaluate(node_state& who, epoch_number epoch) const {
  if (!in.options_.judged)
    return;
  const evaluation_report found = evaluation_of(in.options_.seed, epoch);
  judge(in.what_).hear(who.judged, found, step_number{who.applied.size()});
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
    in.disk_->evaluations[one->epoch] =
        evaluation_of(in.options_.seed, one->epoch);
}

/// As if nothing had ever happened to it.
uint64_t cluster::judging::epochs_to_do() const {
  const judge by(in.what_);
  judgement so_far;
  uint64_t epoch = 0;
  while (epoch < in.options_.epochs &&
         (!in.options_.judged || epoch == 0 || by.over(so_far).empty()))
    by.hear(so_far, evaluation_of(in.options_.seed, epoch_number{++epoch}),
            step_number{epoch});
  return epoch;
}

/// The best of that many epochs.
void cluster::judging::check_best(step_number best, uint64_t steps) const {
  const uint64_t per_epoch = (in.options_.rows + in.options_.global_batch - 1) /
                             in.options_.global_batch;
  const judge by(in.what_);
  judgement expected;
  for (uint64_t epoch = 1; epoch * per_epoch <= steps; ++epoch)
    by.hear(expected, evaluation_of(in.options_.seed, epoch_number{epoch}),
            step_number{epoch * per_epoch});
  if (best != expected.keep.step)
    in.fail("the model is that of step " + to_string(best) + ", the best is " +
            to_string(expected.keep.step));
}

} // namespace ballast::simulation
