#include "runtime/metrics/metric_values.hpp"

#include "runtime/base/check.hpp"
#include "runtime/metrics/class_scores.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace ballast::metrics {

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// Computes each of the metrics; what several need is computed once.
class computation {
public:
  computation(const layout& by, totals& of) : by_(by), of_(of) {
    if (by.fits == task::classes && by.reals > 0)
      classes_.emplace(class_scores{counts(by.actual), counts(by.predicted),
                                    counts(by.hits)});
  }

  metric_value value(metric what);

private:
  metric_value of_classes(metric what);
  metric_value by_class(metric what, metric each) const {
    return {what, classes_->by_class(each), classes_->undefined(each), 0};
  }
  metric_value of_probabilities(metric what);
  metric_value of_ranks(metric what);
  metric_value of_number(metric what);
  metric_value of_tokens(metric what) const;
  metric_value error_quantile(metric what, double part);
  double calibration_error() const;
  void rank_classes();

  std::span<const uint64_t> counts(block at) const {
    return std::span(of_.counts).subspan(at.at, at.size);
  }
  double real(block at, size_t i = 0) const { return of_.reals[at.at + i]; }
  double rows() const { return of_.reals[0]; }

  const layout& by_;
  totals& of_;
  std::optional<class_scores> classes_;
};

metric_value one(metric what, double number, std::string undefined = {},
                 double error_max = 0) {
  return {what, {number}, std::move(undefined), error_max};
}

double part(uint64_t some, uint64_t of) {
  return double(some) / double(of);
}

metric_value computation::value(metric what) {
  const bool tokens = by_.fits == task::tokens;
  metric_value out;
  if (!tokens && rows() == 0)
    out = one(what, no_number, "the test part has no rows");
  else if (by_.fits == task::classes)
    out = of_classes(what);
  else if (tokens)
    out = of_tokens(what);
  else
    out = of_number(what);
  for (double number : out.numbers)
    if (out.undefined.empty() && !std::isfinite(number))
      out.undefined = "the outputs of the model are not finite";
  return out;
}

metric_value computation::of_classes(metric what) {
  const class_scores& scores = *classes_;
  const auto total = uint64_t(rows());
  using average = class_scores::average;
  switch (what) {
  case metric::accuracy:
    return one(what, part(scores.hits_of_all(), total));
  case metric::majority_accuracy:
    return one(what, part(scores.most_rows(), total));
  case metric::balanced_accuracy:
    return one(what, scores.balanced_accuracy());
  case metric::precision:
  case metric::recall:
  case metric::f1: {
    const double found = scores.of_class(what, 1);
    return one(what, found,
               std::isnan(found) ? without_rows(std::array{size_t{1}}) : "");
  }
  case metric::precision_macro:
    return one(what, scores.mean_of(metric::precision, average::macro));
  case metric::recall_macro:
    return one(what, scores.mean_of(metric::recall, average::macro));
  case metric::f1_macro:
    return one(what, scores.mean_of(metric::f1, average::macro));
  case metric::precision_weighted:
    return one(what, scores.mean_of(metric::precision, average::weighted));
  case metric::recall_weighted:
    return one(what, scores.mean_of(metric::recall, average::weighted));
  case metric::f1_weighted:
    return one(what, scores.mean_of(metric::f1, average::weighted));
  case metric::precision_per_class:
    return by_class(what, metric::precision);
  case metric::recall_per_class:
    return by_class(what, metric::recall);
  case metric::f1_per_class:
    return by_class(what, metric::f1);
  case metric::rows_per_class: {
    const auto found = counts(by_.actual);
    return {what, {found.begin(), found.end()}, {}, 0};
  }
  case metric::confusion_matrix: {
    const auto found = counts(by_.matrix);
    return {what, {found.begin(), found.end()}, {}, 0};
  }
  default:
    return of_probabilities(what);
  }
}

metric_value computation::of_probabilities(metric what) {
  const auto within = [&](uint32_t top) {
    for (size_t i = 0; i < by_.top.size(); ++i)
      if (by_.top[i] == top)
        return one(what, part(of_.counts[by_.within.at + i], uint64_t(rows())));
    return one(what, no_number);
  };
  switch (what) {
  case metric::top_2_accuracy:
    return within(2);
  case metric::top_3_accuracy:
    return within(3);
  case metric::top_5_accuracy:
    return within(5);
  case metric::top_10_accuracy:
    return within(10);
  case metric::log_loss:
    return one(what, real(by_.log_loss) / rows());
  case metric::brier:
    return one(what, real(by_.brier) / rows());
  case metric::ece:
    return one(what, calibration_error());
  default:
    return of_ranks(what);
  }
}

double computation::calibration_error() const {
  double sum = 0;
  for (size_t i = 0; i < calibration_bins; ++i)
    sum += std::abs(double(of_.counts[by_.bin_hits.at + i]) -
                    real(by_.bin_confidence, i));
  return sum / rows();
}

void computation::rank_classes() {
  if (by_.ranked > 0) {
    for (size_t i = of_.columns.size(); i < by_.columns; ++i)
      of_.columns.push_back(ranked_column(by_, of_.ranked, i));
    return;
  }
  for (size_t column = 0; column < by_.columns; ++column) {
    const auto bins = [&](size_t own) {
      return counts({by_.sketch.at + (2 * column + own) * by_.sketch_bins,
                     by_.sketch_bins});
    };
    of_.columns.push_back(rank(bins(0), bins(1)));
  }
}

metric_value computation::of_ranks(metric what) {
  if (of_.columns.empty())
    rank_classes();
  const bool curve =
      what == metric::roc_auc || what == metric::roc_auc_per_class;
  const bool listed = about(what).shape == metric_shape::per_class;
  const size_t first = by_.classes - by_.columns; // of a column
  metric_value out{what, {}, {}, 0};
  std::vector<size_t> lacking;
  double sum = 0, errors = 0, classes = 0;
  // Of two classes, one number is that of class 1.
  for (size_t c = by_.classes == 2 && !listed ? 1 : first; c < by_.classes;
       ++c) {
    const class_ranking& found = of_.columns[c - first];
    const bounded& number = curve ? found.roc_auc : found.average_precision;
    if (found.own == 0)
      lacking.push_back(c);
    else if (curve && found.others == 0)
      out.undefined =
          "all rows of the test part are of class " + std::to_string(c);
    const bool defined = found.own > 0 && (!curve || found.others > 0);
    out.numbers.push_back(defined ? number.value : no_number);
    sum += out.numbers.back();
    errors += number.error_max;
    classes += 1;
    if (defined)
      out.error_max = std::max(out.error_max, number.error_max);
  }
  if (out.undefined.empty())
    out.undefined = without_rows(lacking);
  if (listed)
    return out;
  const bool defined = out.undefined.empty();
  return one(what, sum / classes, out.undefined,
             defined ? errors / classes : 0);
}

metric_value computation::error_quantile(metric what, double below) {
  if (by_.ranked > 0)
    return one(what, quantile(of_.ranked, below));
  const bounded found = quantile(counts(by_.sketch), by_.sketch_bits, below);
  return one(what, found.value, {}, found.error_max);
}

metric_value computation::of_number(metric what) {
  const double squares = real(by_.errors, 1);
  const double deviations = real(by_.targets, 1);
  switch (what) {
  case metric::mae:
    return one(what, real(by_.errors, 0) / rows());
  case metric::rmse:
    return one(what, std::sqrt(squares / rows()));
  case metric::r2:
    if (deviations == 0)
      return one(what, no_number,
                 "all targets of the test part are the same number");
    return one(what, 1 - squares / deviations);
  case metric::mean_rmse:
    return one(what, std::sqrt(deviations / rows()));
  case metric::abs_error_p50:
    return error_quantile(what, 0.5);
  case metric::abs_error_p90:
    return error_quantile(what, 0.9);
  default:
    BALLAST_CHECK(what == metric::abs_error_p99, "a metric of another task");
    return error_quantile(what, 0.99);
  }
}

metric_value computation::of_tokens(metric what) const {
  if (what == metric::perplexity)
    return one(what, std::exp(of_.loss));
  return one(what, of_.accuracy);
}

} // namespace

class_ranking ranked_column(const layout& by, std::span<const double> ranked,
                            size_t column) {
  const size_t own = by.classes - by.columns + column;
  std::vector<uint64_t> keys;
  keys.reserve(ranked.size() / by.ranked);
  for (size_t at = 0; at < ranked.size(); at += by.ranked)
    keys.push_back(
        ranked_key(ranked[at + 1 + column], size_t(ranked[at]) == own));
  return rank(keys);
}

metric_values values_of(const layout& by, totals& of) {
  computation with(by, of);
  metric_values out;
  for (metric what : by.wanted)
    out.push_back(with.value(what));
  return out;
}

const double* number_of(const metric_values& in, metric what) {
  for (const metric_value& one : in)
    if (one.what == what && one.numbers.size() == 1 &&
        std::isfinite(one.numbers[0]))
      return &one.numbers[0];
  return nullptr;
}

} // namespace ballast::metrics
