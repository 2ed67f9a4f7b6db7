#include "runtime/coordinator/run_tally.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::coordinator {

namespace {

/// Workers of another generation may be on hosts with other clocks: a longer
/// gap between two generations says nothing.
constexpr uint64_t recovery_ns_max = 60'000'000'000;
constexpr uint64_t window_ns = 10'000'000'000;
constexpr uint64_t mark_every_ns = 100'000'000;

} // namespace

void drawn_tally::count(const progress_report& report) {
  worker_steps += report.steps.size();
  steps += report.drawn_steps;
  rows += report.drawn_from;
  gradient_rows += report.drawn_rows;
}

bool run_tally::count(const ledger::committed_step& step, uint64_t rows) {
  uint64_t ns = step.t_ns - std::min(step.t_ns, last.t_ns);
  // CLOCK_MONOTONIC begins again when the machine does.
  bool known = timed && step.t_ns >= last.t_ns &&
               (step.generation == last.generation || ns <= recovery_ns_max);
  if (known) {
    timed_samples += step.samples;
    timed_ns += ns - std::min(ns, evaluated_ns);
  }
  timed = true;
  evaluated_ns = 0;
  if (step.epoch != last.epoch) {
    epoch_loss_sum = 0;
    epoch_samples = 0;
    epoch_loss_samples = 0;
  }
  last = step;
  samples += step.samples;
  epoch_samples += step.samples;
  // A power cut may have taken the loss of a step, not the step.
  if (std::isfinite(step.loss)) {
    epoch_loss_sum += step.loss * double(step.samples);
    epoch_loss_samples += step.samples;
  }
  if (epoch_samples != rows)
    return false;
  train_loss = epoch_loss_sum / double(epoch_loss_samples);
  return true;
}

ledger::checkpoint_identity run_tally::identity() const {
  return {{last.epoch, last.step}, last.generation, last.plan, lineage};
}

uint64_t run_tally::samples_per_s() const {
  return timed_ns == 0
             ? 0
             : uint64_t(double(timed_samples) / (double(timed_ns) / 1e9));
}

void sliding_rate::count(uint64_t t_ns, uint64_t samples) {
  if (!marks_.empty() &&
      (t_ns < newest_.t_ns || t_ns - newest_.t_ns > window_ns * 6))
    marks_.clear(); // another clock
  newest_ = {t_ns, samples};
  if (marks_.empty() || t_ns - marks_.back().t_ns >= mark_every_ns)
    marks_.push_back(newest_);
  while (marks_.size() > 2 && t_ns - marks_[1].t_ns >= window_ns)
    marks_.pop_front();
}

uint64_t sliding_rate::per_s() const {
  if (marks_.empty() || newest_.t_ns <= marks_.front().t_ns)
    return 0;
  return uint64_t(double(newest_.samples - marks_.front().samples) * 1e9 /
                  double(newest_.t_ns - marks_.front().t_ns));
}

} // namespace ballast::coordinator
