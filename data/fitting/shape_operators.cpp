/// power, quantile, log and bin: columns of numbers of another shape.
#include "data/fitting/number_operator.hpp"
#include "data/fitting/power_lambda.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ballast::data {

namespace {

using graph::op;
using graph::power_kind;
using graph::value_of;

template <class Word>
Word word_of(const fit_terms& terms, const char* option) {
  return *parse_word<Word>(value_of<std::string>(terms.what, option));
}

class power_operator final : public number_operator {
public:
  explicit power_operator(const fit_terms& terms)
      : number_operator(terms), kind_(word_of<power_kind>(terms, "method")),
        standardize_(value_of<bool>(terms.what, "standardize")) {}

  fit_needs needs() const override { return needs_of_each(true, true); }

  void learn(const learned_facts& facts, fitted_state& into) const override {
    learn_each(facts, into,
               [&](const column_facts& of, learned_column& column) {
                 learn_one(of, column);
               });
  }

protected:
  std::shared_ptr<arrow::Array>
  made_of(std::span<const double> values, const learned_column& column,
          const row_finder& place) const override {
    const double lambda = number_of(column, "lambda");
    const double mean = number_of(column, "mean");
    const double deviation = number_of(column, "deviation");
    std::vector<double> out(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (kind_ == power_kind::box_cox && values[i] <= 0)
        throw row_error(place(int64_t(i)), column.name,
                        "the number is not above 0, as \"box_cox\" needs it; "
                        "take \"yeo_johnson\"",
                        terms().pointer + "/method");
      out[i] = (power_of(kind_, values[i], lambda) - mean) / deviation;
    }
    return float64_array(std::move(out));
  }

private:
  void learn_one(const column_facts& of, learned_column& column) const {
    if (kind_ == power_kind::box_cox && !(of.numbers.least > 0))
      throw ballast_error(errc::invalid_data,
                          terms().pointer + "/method: column '" +
                              printable(column.name) +
                              "' has numbers that are not above 0, as "
                              "\"box_cox\" needs them; take \"yeo_johnson\"",
                          terms().pointer + "/method");
    const ranked_values values = of.quantiles.ranked();
    double lambda = 1;
    if (of.numbers.is_constant())
      column.note = "is the same in all training rows; its power is 1";
    else
      lambda = best_lambda(kind_, values);
    if (!std::isfinite(power_of(kind_, of.numbers.least, lambda)) ||
        !std::isfinite(power_of(kind_, of.numbers.most, lambda)))
      refuse_too_large(column);
    mean_and_deviation spread{0, 1};
    if (standardize_)
      spread = spread_of(kind_, values, lambda);
    if (!std::isfinite(spread.deviation))
      refuse_too_large(column);
    if (!(spread.deviation > 0))
      spread.deviation = 1;
    column.numbers["lambda"] = {lambda};
    column.numbers["mean"] = {spread.mean};
    column.numbers["deviation"] = {spread.deviation};
  }

  const power_kind kind_;
  const bool standardize_;
};

/// Between two of the references in proportion; of several equal ones the last
/// (`behind`), or the first.
double interpolated(const std::vector<double>& at, double value, bool behind) {
  const auto last = double(at.size() - 1);
  const auto found = behind ? std::upper_bound(at.begin(), at.end(), value)
                            : std::lower_bound(at.begin(), at.end(), value);
  const auto place = size_t(found - at.begin());
  if (behind) {
    if (place == 0)
      return 0;
    const size_t below = place - 1;
    if (place == at.size() || at[below] == value)
      return double(below) / last;
    return (double(below) + (value - at[below]) / (at[place] - at[below])) /
           last;
  }
  if (place == at.size())
    return 1;
  if (place == 0 || at[place] == value)
    return double(place) / last;
  return (double(place) - (at[place] - value) / (at[place] - at[place - 1])) /
         last;
}

class quantile_operator final : public number_operator {
public:
  explicit quantile_operator(const fit_terms& terms)
      : number_operator(terms),
        normal_(word_of<graph::distribution_kind>(terms, "output") ==
                graph::distribution_kind::normal) {}

  fit_needs needs() const override { return needs_of_each(false, true); }

  void learn(const learned_facts& facts, fitted_state& into) const override {
    const uint64_t wanted = value_of<uint64_t>(terms().what, "quantiles");
    learn_each(
        facts, into, [&](const column_facts& of, learned_column& column) {
          const uint64_t count =
              std::max<uint64_t>(2, std::min(wanted, of.values));
          const ranked_values values = of.quantiles.ranked();
          std::vector<double>& out = column.numbers["quantiles"];
          for (uint64_t i = 0; i < count; ++i)
            out.push_back(values.quantile(double(i) / double(count - 1)));
          // Rounding between two equal ones goes down by a bit.
          for (size_t i = 1; i < out.size(); ++i)
            out[i] = std::max(out[i], out[i - 1]);
        });
  }

protected:
  std::shared_ptr<arrow::Array>
  made_of(std::span<const double> values, const learned_column& column,
          const row_finder& /*place*/) const override {
    const std::vector<double>& at = column.numbers.at("quantiles");
    std::vector<double> out(values.size());
    for (size_t i = 0; i < values.size(); ++i)
      out[i] = normal_ ? as_normal(values[i], at) : as_uniform(values[i], at);
    return float64_array(std::move(out));
  }

private:
  /// Ranks nearer to 0 or 1 have no number in a normal distribution.
  static constexpr double edge = 1e-7;

  static double as_uniform(double value, const std::vector<double>& at) {
    if (value <= at.front() || value >= at.back())
      return value >= at.back() && !(value <= at.front()) ? 1 : 0;
    return 0.5 *
           (interpolated(at, value, true) + interpolated(at, value, false));
  }

  static double as_normal(double value, const std::vector<double>& at) {
    const double least = edge - std::numeric_limits<double>::epsilon();
    double rank =
        0.5 * (interpolated(at, value, true) + interpolated(at, value, false));
    if (value + edge > at.back())
      rank = 1;
    if (value - edge < at.front())
      rank = 0;
    return normal_quantile(std::clamp(rank, least, 1 - least));
  }

  const bool normal_;
};

class log_operator final : public number_operator {
public:
  using number_operator::number_operator;
  fit_needs needs() const override { return needs_of_each(false, false); }

protected:
  std::shared_ptr<arrow::Array>
  made_of(std::span<const double> values, const learned_column& column,
          const row_finder& place) const override {
    const auto offset = value_of<double>(terms().what, "offset");
    std::vector<double> out(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const double sum = values[i] + offset;
      if (!(sum > 0))
        throw row_error(place(int64_t(i)), column.name,
                        "the number has no logarithm; expected one above " +
                            std::to_string(-offset) + ": raise \"offset\" of " +
                            terms().pointer,
                        terms().pointer + "/offset");
      out[i] = offset == 1 ? std::log1p(values[i]) : std::log(sum);
    }
    return float64_array(std::move(out));
  }
};

class bin_operator final : public number_operator {
public:
  using number_operator::number_operator;

  fit_needs needs() const override { return needs_of_each(true, is_by_rank()); }

  void learn(const learned_facts& facts, fitted_state& into) const override {
    const uint64_t bins = value_of<uint64_t>(terms().what, "bins");
    learn_each(
        facts, into, [&](const column_facts& of, learned_column& column) {
          std::vector<double>& inner = column.numbers["edges"];
          const ranked_values values = of.quantiles.ranked();
          double before = of.numbers.least;
          if (!std::isfinite(of.numbers.most - of.numbers.least))
            refuse_too_large(column);
          for (uint64_t i = 1; i < bins; ++i) {
            const double part = double(i) / double(bins);
            const double edge =
                is_by_rank() ? values.quantile(part)
                             : of.numbers.least +
                                   part * (of.numbers.most - of.numbers.least);
            if (edge - before > edges_apart &&
                of.numbers.most - edge > edges_apart)
              inner.push_back(before = edge);
          }
          if (inner.size() + 1 < bins)
            column.note = "has too many equal values for " +
                          std::to_string(bins) + " bins; it has " +
                          std::to_string(inner.size() + 1);
        });
  }

protected:
  std::shared_ptr<arrow::DataType> made_type() const override {
    return arrow::int64();
  }
  std::shared_ptr<arrow::Array>
  made_of(std::span<const double> values, const learned_column& column,
          const row_finder& /*place*/) const override {
    const std::vector<double>& inner = column.numbers.at("edges");
    std::vector<int64_t> out(values.size());
    for (size_t i = 0; i < values.size(); ++i)
      out[i] = std::upper_bound(inner.begin(), inner.end(), values[i]) -
               inner.begin();
    return int64_array(std::move(out));
  }

private:
  static constexpr double edges_apart = 1e-8;
  bool is_by_rank() const {
    return word_of<graph::bin_kind>(terms(), "method") ==
           graph::bin_kind::quantile;
  }
};

} // namespace

std::unique_ptr<fitted_operator> make_shape_operator(const fit_terms& terms) {
  switch (terms.what.what) {
  case op::power:
    return std::make_unique<power_operator>(terms);
  case op::quantile:
    return std::make_unique<quantile_operator>(terms);
  case op::log:
    return std::make_unique<log_operator>(terms);
  case op::bin:
    return std::make_unique<bin_operator>(terms);
  default:
    return nullptr;
  }
}

} // namespace ballast::data
