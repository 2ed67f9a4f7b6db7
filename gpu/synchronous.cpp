#include "gpu/synchronous.hpp"

#include "runtime/base/errors.hpp"

#include <cmath>
#include <span>
#include <utility>

namespace ballast::gpu {

synchronous::synchronous(const parts& with, std::unique_ptr<reduction> sums)
    : with_(with), reduction_(std::move(sums)),
      finite_(*with_.how, *with_.model, *with_.device, *with_.memory) {
  statistics_.resize(with_.model->statistics_count());
  // Clears leftovers of an earlier generation from the model.
  with_.model->take_statistics(statistics_);
  with_.state->statistics.resize(statistics_.size());
}

double synchronous::contribute(const step_work& of) {
  step_work mine = of;
  mine.gradients = gradients();
  return reduction_->contribute(mine);
}

void synchronous::exchange(worker::trailer& sums) {
  reduction_->finish(sums, statistics_);
}

void synchronous::apply(ledger::position at, const worker::trailer& sums,
                        uint64_t steps_total) {
  if (!std::isfinite(sums.loss_sum()))
    throw ballast_error(errc::non_finite_loss,
                        "the loss of step " + to_string(at.step) + " (epoch " +
                            to_string(at.epoch) +
                            ") is not finite; nothing of it was applied. "
                            "Lower train.optimizer.lr, set train.clip_norm, "
                            "or look for broken values in the data");
  const size_t count = with_.memory->count;
  const double samples = double(sums.samples());
  const uint64_t step = value(at.step);
  // Neither clipped by nor looked at; of the fused reduction they are not even
  // those of all ranks.
  for (const update_range& one : with_.optimizer->groups().still)
    with_.device->clear(gradients() + one.first, one.count);
  // Equal on every rank, as the reduced gradients are.
  if (!with_.optimizer->apply_clipped(
          {with_.memory->parameters.get(), count}, {gradients(), count},
          1.0 / samples, with_.how->clip_norm,
          learning_rate(with_.how->optimizer, with_.how->schedule, step,
                        steps_total),
          step))
    finite_.refuse_gradient(at, gradients(), samples);
  // Only what is done is applied: a device that fails later has no say then.
  with_.device->finish();
  if (!statistics_.empty())
    with_.model->apply_statistics(statistics_, samples);
  training_state& state = *with_.state;
  state.last = sums;
  std::swap(state.statistics, statistics_);
  ++state.turn;
  state.held = {true, at.step, true};
  reduction_->applied(at, samples);
}

worker::trailer
synchronous::repair(collectives::collective& group,
                    std::span<const collectives::bytes_here> have) {
  const training_state& state = *with_.state;
  const bool late = have[size_t(group.rank())] == collectives::bytes_here::none;
  float* last = with_.memory->gradients_of(state.turn + (late ? 0 : 1));
  worker::trailer sums = state.last;
  std::vector<float> statistics = state.statistics;
  auto send = [&](float* values, size_t count) {
    if (count > 0)
      group.fill_lacking(values, count * sizeof(float), have, patience());
  };
  send(last, with_.memory->count);
  send(sums.data(), worker::trailer::floats);
  send(statistics.data(), statistics.size());
  if (late)
    statistics_ = std::move(statistics);
  return sums;
}

void synchronous::score(const batch_view& rows, std::span<float> scores) {
  reduction_->score(rows, gradients(), scores);
}

evaluation_sums synchronous::evaluate(const batch_view& rows) {
  return reduction_->evaluate(rows, gradients());
}

} // namespace ballast::gpu
