#include "runtime/coordinator/checkpoint_cost.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace ballast::coordinator {

namespace {

constexpr size_t usual_max = 256;
constexpr size_t usual_min = 5; // before that nothing is usual
constexpr size_t samples_max = 15;
/// Steps behind a copy whose time it may lengthen however soon it is saved: one
/// computes meanwhile, and its rank 0 may keep the others waiting in the next.
constexpr uint64_t lengthened_steps = 2;
/// Of a break between two generations: longer ones are no time of training, and
/// the clocks of two hosts differ.
constexpr uint64_t break_ns_max = 60'000'000'000;
/// As long as no failure was seen that took the state.
constexpr double day_s = 86'400;
constexpr double mttf_min_s = 1;
/// Of a number of steps: less is an error of rounding.
constexpr double hair = 1e-6;

template <class Values, class Of>
double median(const Values& values, Of of) {
  std::vector<double> sorted;
  sorted.reserve(values.size());
  for (const auto& one : values)
    sorted.push_back(of(one));
  const auto middle = sorted.begin() + ptrdiff_t(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  if (sorted.size() % 2 == 1)
    return *middle;
  return (*middle + *std::max_element(sorted.begin(), middle)) / 2;
}

template <class Steps>
double median_ns(const Steps& steps) {
  return median(steps, [](const auto& one) { return double(one.ns); });
}

/// What a sum of steps is compared with. A few that something else held up for
/// long do not count.
template <class Steps>
double mean_ns(const Steps& steps) {
  const double most = 2 * median_ns(steps);
  double sum = 0;
  size_t count = 0;
  for (const auto& one : steps)
    if (double(one.ns) <= most) {
      sum += double(one.ns);
      ++count;
    }
  return sum / double(count);
}

/// `work_s` of training between two checkpoints.
checkpoint_figures::plan plan_of(double work_s, double pause_s, double saved_s,
                                 double mttf_s) {
  checkpoint_figures::plan out;
  out.interval_s = work_s + pause_s;
  out.pause_ratio = pause_s / out.interval_s;
  // A failure comes at any time between two; the newest one is on the disk only
  // some time after its step.
  out.lost_s = out.interval_s / 2 + saved_s;
  out.waste_ratio = std::min(1.0, out.pause_ratio + out.lost_s / mttf_s);
  return out;
}

/// Copies are made after some steps, and not before `every_s` are over. One
/// that is due while another is saved waits.
double work_between_s(uint64_t every_steps, uint64_t every_s, double step_s,
                      double pause_s, double saved_s) {
  const double part_s = double(every_steps) * step_s;
  const double least_s = std::max(double(every_s), saved_s) - pause_s;
  return part_s * std::max(1.0, std::ceil(least_s / part_s - hair));
}

/// As whole seconds where there are some, else as steps. `in_memory`: of copies
/// of which most go there.
checkpoint_spec near_to(double work_s, double step_s, checkpoint_spec job,
                        bool in_memory) {
  const auto steps =
      uint64_t(std::max(1.0, std::floor(work_s / step_s + hair)));
  if (in_memory) {
    job.memory_every_s = std::max<uint64_t>(1, uint64_t(std::llround(work_s)));
    job.every_steps = std::min(job.every_steps, steps);
    return job;
  }
  job.every_s = work_s < 1 ? 0 : uint64_t(std::llround(work_s));
  job.every_steps = job.every_s == 0 ? steps : std::min(job.every_steps, steps);
  return job;
}

} // namespace

double best_work_s(double pause_s, double mttf_s) {
  if (pause_s >= 2 * mttf_s)
    return mttf_s;
  const double ratio = pause_s / (2 * mttf_s);
  return std::sqrt(2 * pause_s * mttf_s) *
             (1 + std::sqrt(ratio) / 3 + ratio / 9) -
         pause_s;
}

void checkpoint_cost::restore(uint64_t trained_ns, uint64_t undone) {
  trained_ns_ = trained_ns;
  undone_ = undone;
}

void checkpoint_cost::step(const ledger::committed_step& what,
                           uint64_t evaluated_ns) {
  const std::optional<ledger::committed_step> before =
      std::exchange(last_, what);
  const bool follows =
      before && what.step == next(before->step) && what.t_ns >= before->t_ns;
  const uint64_t ns = follows ? what.t_ns - before->t_ns : 0;
  const bool same = follows && what.generation == before->generation;
  if (same || ns <= break_ns_max)
    trained_ns_ += ns;
  // More workers or fewer are quicker or slower: what was usual counts only
  // until enough is known of these.
  if (before && what.generation != before->generation)
    for (timed_step& one : usual_)
      one.number = {};
  if (same)
    count({what.step, ns - std::min(ns, evaluated_ns)});
  else if (copy_ && what.step > copy_->after)
    copy_->broken = true;
  if (copy_ && copy_->saved_s &&
      value(what.step) >= value(copy_->after) + lengthened_steps)
    close();
}

void checkpoint_cost::count(const timed_step& what) {
  if (copy_ && what.number > copy_->after) {
    ++copy_->steps;
    copy_->ns += what.ns;
    return;
  }
  usual_.push_back(what);
  while (usual_.size() > usual_max ||
         (usual_.size() > usual_min && usual_.front().number == step_number{}))
    usual_.pop_front();
}

void checkpoint_cost::copied(step_number after, instant now) {
  if (copy_ && copy_->saved_s)
    close();
  copy_ = watch{.after = after, .since = now};
  // Steps behind it may have been told first.
  while (!usual_.empty() && usual_.back().number > after) {
    ++copy_->steps;
    copy_->ns += usual_.back().ns;
    usual_.pop_back();
  }
}

void checkpoint_cost::saved(step_number after, bool published, instant now) {
  if (!copy_ || copy_->after != after || copy_->saved_s)
    return;
  if (!published) {
    copy_.reset();
    return;
  }
  copy_->saved_s = std::chrono::duration<double>(now - copy_->since).count();
  if (last_ && value(last_->step) >= value(after) + lengthened_steps)
    close();
}

/// What the copy cost is known.
void checkpoint_cost::close() {
  const watch done = *std::exchange(copy_, std::nullopt);
  if (done.broken || done.steps == 0 || usual_.size() < usual_min)
    return;
  const double more_ns = double(done.ns) - double(done.steps) * mean_ns(usual_);
  samples_.push_back({more_ns / 1e9, *done.saved_s});
  if (samples_.size() > samples_max)
    samples_.pop_front();
}

void checkpoint_cost::went_back() {
  ++undone_;
  last_.reset();
  copy_.reset();
}

checkpoint_figures
checkpoint_cost::figures(const checkpoint_spec& asked, step_number newest,
                         std::optional<step_number> in_memory) const {
  checkpoint_figures out;
  out.newest = newest;
  out.in_memory = in_memory;
  out.trained_s = double(trained_ns_) / 1e9;
  out.undone = undone_;
  out.assumed = undone_ == 0;
  out.mttf_s = out.assumed
                   ? std::max(day_s, out.trained_s)
                   : std::max(mttf_min_s, out.trained_s / double(undone_));
  if (usual_.size() < usual_min || median_ns(usual_) <= 0)
    return out;
  const double step_s = median_ns(usual_) / 1e9;
  out.step_s = step_s;
  if (samples_.empty())
    return out;
  checkpoint_figures::measured& cost = out.cost.emplace();
  // By chance the steps meanwhile may have been the quicker ones.
  cost.pause_s = std::max(
      0.0, median(samples_, [](const sample& one) { return one.pause_s; }));
  cost.saved_s =
      median(samples_, [](const sample& one) { return one.saved_s; });
  const uint64_t every_s = in_memory ? asked.copied_every_s() : asked.every_s;
  cost.now = plan_of(work_between_s(asked.every_steps, every_s, step_s,
                                    cost.pause_s, cost.saved_s),
                     cost.pause_s, cost.saved_s, out.mttf_s);
  // One at a time, and after a step.
  const double least_s = std::max(step_s, cost.saved_s - cost.pause_s);
  const double best_s = std::clamp(best_work_s(cost.pause_s, out.mttf_s),
                                   least_s, std::max(least_s, day_s));
  cost.best = plan_of(best_s, cost.pause_s, cost.saved_s, out.mttf_s);
  cost.advice = near_to(best_s, step_s, asked, in_memory.has_value());
  return out;
}

} // namespace ballast::coordinator
