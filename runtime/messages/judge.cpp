#include "runtime/messages/judge.hpp"

#include "runtime/metrics/metric_catalogue.hpp"

#include <cstdio>
#include <limits>

namespace ballast {

namespace {

const std::string loss_name = "loss";

bool low_is_good(const std::string& name, best_mode mode) {
  if (mode != best_mode::automatic)
    return mode == best_mode::min;
  const auto one = parse_word<metrics::metric>(name);
  return !one || metrics::about(*one).good == metrics::better::low;
}

std::string short_number(double what) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", what);
  return text;
}

} // namespace

judge::judge(const job& of)
    : patience_(of.stop.patience), min_delta_(of.stop.min_delta),
      target_(of.stop.target), by_steps_(of.evaluate.every.has_value()) {
  const std::string& stop = of.stop.metric;
  const keep_best_spec& keep = of.keep.best;
  stop_ = {!stop.empty(), stop, low_is_good(stop, best_mode::automatic)};
  keep_ = {!keep.metric.empty(), keep.metric,
           low_is_good(keep.metric, keep.mode)};
}

double judge::measure::of(const evaluation_report& found) const {
  if (name == loss_name)
    return found.loss;
  const auto one = parse_word<metrics::metric>(name);
  const double* value = one ? number_of(found.values, *one) : nullptr;
  return value ? *value : std::numeric_limits<double>::quiet_NaN();
}

/// False where one is NaN.
bool judge::measure::better(double now, double before, double by) const {
  return low ? now < before - by : now > before + by;
}

bool judge::hear(judgement& so_far, const evaluation_report& found) const {
  if (!judges() || found.step <= so_far.judged)
    return false;
  so_far.judged = found.step;
  so_far.epoch = found.epoch;
  const auto take = [&](const measure& by, best_so_far& best, double delta) {
    const double now = by.of(found);
    const bool first = best.epoch == epoch_number{} && now == now;
    if (!first && !by.better(now, best.value, delta))
      return false;
    best = {found.epoch, found.step, now};
    return true;
  };
  bool best = false;
  if (stop_.active) {
    best = take(stop_, so_far.stop, min_delta_);
    so_far.since = best ? 0 : so_far.since + 1;
    const double now = stop_.of(found);
    so_far.reached =
        target_ && (now == *target_ || stop_.better(now, *target_));
  }
  return keep_.active ? take(keep_, so_far.keep, 0) : best;
}

std::string judge::place(epoch_number epoch, step_number step) const {
  return by_steps_ ? "step " + to_string(step) : "epoch " + to_string(epoch);
}

std::string judge::over(const judgement& so_far) const {
  const best_so_far& best = so_far.stop;
  if (so_far.reached)
    return stop_.name + " is " + (stop_.low ? "at most " : "at least ") +
           short_number(*target_) + " after " +
           place(so_far.epoch, so_far.judged) + " (stop.target)";
  if (!patience_ || so_far.since < *patience_)
    return {};
  const std::string in = std::to_string(so_far.since) +
                         (so_far.since == 1 ? " evaluation" : " evaluations");
  if (best.epoch == epoch_number{})
    return "no " + stop_.name + " in " + in + " (stop.patience)";
  return "no better " + stop_.name + " in " + in +
         " (stop.patience); the best is " + short_number(best.value) + ", of " +
         place(best.epoch, best.step);
}

} // namespace ballast
