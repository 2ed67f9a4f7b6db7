#include "monitor/logs/epoch_lines.hpp"

#include "runtime/base/number_text.hpp"
#include "runtime/job/test_part.hpp"
#include "runtime/messages/judge.hpp"
#include "runtime/metrics/metric_catalogue.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::monitor {

namespace {

constexpr int64_t line_every_ns = 1'000'000'000;
/// Between steps of two generations, whose hosts may have other clocks.
constexpr uint64_t gap_ns_max = 60'000'000'000;
/// Evaluations that wait for the end of their epoch.
constexpr size_t tests_max = 64;

/// The metric by that name, or else the first that is one number.
void add_metric(finished_epoch& to, const std::string& wanted,
                const metrics::metric_values& values) {
  for (const metrics::metric_value& one : values) {
    const bool is_number =
        metrics::about(one.what).shape == metrics::metric_shape::number;
    if (!is_number || one.numbers.size() != 1 ||
        (!wanted.empty() && wanted != ballast::to_string(one.what)))
      continue;
    to.metric = ballast::to_string(one.what);
    to.value = one.numbers[0];
    return;
  }
}

} // namespace

std::string render_epoch(const finished_epoch& of) {
  std::string out =
      "epoch " + std::to_string(of.epoch) + "/" + std::to_string(of.epochs);
  if (of.loss)
    out += "  loss " + four_digits(*of.loss);
  if (of.test_loss)
    out += "  test " + four_digits(*of.test_loss);
  if (!of.metric.empty())
    out += "  " + of.metric + " " +
           (std::isfinite(of.value) ? four_digits(of.value) : "undefined");
  if (of.seconds)
    out += "  " + took_text(*of.seconds);
  if (of.samples_per_s)
    out += "  " + short_number(*of.samples_per_s) + " samples/s";
  return out;
}

void epoch_lines::begin(const job& what) {
  *this = {};
  epochs_ = what.train.epochs;
  tests_any_ = has_test_part(what);
  every_ = what.evaluate.every;
  const judge by(what);
  if (by.judges() && by.metric() != "loss")
    metric_ = by.metric();
}

/// Nothing of these epochs has been.
void epoch_lines::forget(uint64_t from_epoch) {
  std::erase_if(ended_, [&](const finished_epoch& one) {
    return one.epoch >= from_epoch;
  });
  std::erase_if(tests_,
                [&](const auto& one) { return one.first >= from_epoch; });
  now_ = {};
  last_.reset();
  evaluated_ns_ = 0;
}

void epoch_lines::measure(const ledger::committed_step& step) {
  if (last_ && step.t_ns >= last_->t_ns) {
    const uint64_t ns = step.t_ns - last_->t_ns;
    if (step.generation == last_->generation || ns <= gap_ns_max) {
      now_.timed_samples += step.samples;
      now_.timed_ns += ns - std::min(ns, evaluated_ns_);
    }
  }
  evaluated_ns_ = 0;
  last_ = step;
}

void epoch_lines::committed(const ledger::committed_step& step,
                            std::optional<end> over) {
  if (last_ && step.step <= last_->step)
    forget(value(step.epoch));
  if (now_.epoch != value(step.epoch))
    now_ = {.epoch = value(step.epoch), .first = step.step};
  measure(step);
  now_.samples += step.samples;
  if (std::isfinite(step.loss)) {
    now_.loss += step.loss * double(step.samples);
    now_.loss_samples += step.samples;
  }
  if (!over)
    return;
  finished_epoch out;
  out.epoch = now_.epoch;
  out.epochs = epochs_;
  out.judged = judged_in(step);
  if (over->loss)
    out.loss = over->loss;
  else if (now_.loss_samples > 0)
    out.loss = now_.loss / double(now_.loss_samples);
  if (now_.timed_ns > 0) {
    const double rate =
        double(now_.timed_samples) * 1e9 / double(now_.timed_ns);
    out.samples_per_s = rate;
    out.seconds = double(now_.samples) / rate;
  }
  ended_.push_back(out);
}

step_number epoch_lines::judged_in(const ledger::committed_step& last) const {
  if (!tests_any_)
    return {};
  if (!every_ || value(last.epoch) == epochs_)
    return last.step;
  const step_number newest{value(last.step) / *every_ * *every_};
  return newest < now_.first ? step_number{} : newest;
}

bool epoch_lines::is_ready(const finished_epoch& one) const {
  if (one.judged == step_number{})
    return true;
  const auto found = tests_.find(one.epoch);
  return (found != tests_.end() && found->second.after >= one.judged) ||
         one.epoch + 1 < now_.epoch; // it may have none after all
}

void epoch_lines::evaluated(const evaluation_report& what, bool classes) {
  tested& at = tests_[value(what.epoch)];
  if (at.after >= what.step && at.after > step_number{})
    return;
  evaluated_ns_ += what.wall_ns;
  at.after = what.step;
  finished_epoch& test = at.found;
  test = {};
  test.test_loss = what.loss;
  add_metric(test, metric_, what.values);
  if (test.metric.empty())
    add_metric(test, "", what.values);
  if (test.metric.empty() && classes) {
    test.metric = "accuracy";
    test.value = what.accuracy;
  }
  while (tests_.size() > tests_max)
    tests_.erase(tests_.begin());
}

void epoch_lines::add_test(finished_epoch& to) const {
  const auto found = tests_.find(to.epoch);
  if (found == tests_.end() || found->second.after < to.judged)
    return;
  const finished_epoch& test = found->second.found;
  to.test_loss = test.test_loss;
  to.metric = test.metric;
  to.value = test.value;
}

std::vector<std::string> epoch_lines::take(int64_t now_ns, bool over) {
  size_t ready = 0;
  while (ready < ended_.size() && (over || is_ready(ended_[ready])))
    ++ready;
  const bool folds = epochs_ > each_max;
  const bool too_soon =
      folds && !over && printed_ns_ && now_ns - *printed_ns_ < line_every_ns;
  std::vector<std::string> out;
  if (ready == 0)
    return out;
  for (size_t i = 0; i < ready; ++i) {
    const bool newest = i + 1 == ready;
    if (newest && too_soon)
      break; // it waits
    if (newest || !folds) {
      add_test(ended_.front());
      out.push_back(render_epoch(ended_.front()));
      printed_ns_ = now_ns;
    }
    // Kept where it can be undone: the newest, which tells a repeated report.
    tests_.erase(tests_.begin(), tests_.lower_bound(ended_.front().epoch));
    ended_.pop_front();
  }
  return out;
}

} // namespace ballast::monitor
