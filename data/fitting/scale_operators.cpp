/// standardize, min_max, max_abs and robust: (value - shift) / scale.
#include "data/fitting/number_operator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ballast::data {

namespace {

using graph::op;
using graph::value_of;

class scale_operator final : public number_operator {
public:
  using number_operator::number_operator;

  fit_needs needs() const override {
    const bool robust = terms().what.what == op::robust;
    return needs_of_each(!robust, robust);
  }

  void learn(const learned_facts& facts, fitted_state& into) const override {
    learn_each(facts, into,
               [&](const column_facts& of, learned_column& column) {
                 switch (terms().what.what) {
                 case op::standardize:
                   return standardize(of.numbers, column);
                 case op::min_max:
                   return min_max(of.numbers, column);
                 case op::max_abs:
                   return max_abs(of.numbers, column);
                 default:
                   return robust(of.quantiles.ranked(), column);
                 }
               });
  }

protected:
  std::shared_ptr<arrow::Array>
  made_of(std::span<const double> values, const learned_column& column,
          const row_finder& /*place*/) const override {
    const double shift = number_of(column, "shift");
    const double scale = number_of(column, "scale");
    const new_cells<double> made = new_float64(values.size());
    double* const out = made.values;
    if (terms().what.what == op::min_max) {
      // As a product and a sum: the least and the largest come out exact.
      const double low = option("low");
      const double high = option("high");
      const bool clip = value_of<bool>(terms().what, "clip");
      for (size_t i = 0; i < values.size(); ++i)
        out[i] = values[i] * scale + shift;
      for (size_t i = 0; clip && i < values.size(); ++i)
        out[i] = std::clamp(out[i], low, high);
    } else {
      for (size_t i = 0; i < values.size(); ++i)
        out[i] = (values[i] - shift) / scale;
    }
    return made.column;
  }

private:
  double option(const char* name) const {
    return value_of<double>(terms().what, name);
  }

  static void keep(learned_column& column, double shift, double scale) {
    column.numbers["shift"] = {shift};
    column.numbers["scale"] = {scale};
  }

  /// The divisor, or 1 where it is none.
  double divisor(double scale, bool constant, learned_column& column) const {
    if (!std::isfinite(scale))
      refuse_too_large(column);
    if (!constant)
      return scale;
    column.note = "is the same in all training rows, or nearly; it is divided "
                  "by 1";
    return 1;
  }

  void standardize(const moments& of, learned_column& column) const {
    double scale = 1;
    if (value_of<bool>(terms().what, "scale"))
      scale = divisor(of.deviation(), of.is_constant(), column);
    keep(column, value_of<bool>(terms().what, "center") ? of.mean : 0, scale);
  }

  static bool is_nothing(double range) {
    constexpr double least = 10 * std::numeric_limits<double>::epsilon();
    return std::abs(range) < least;
  }

  void min_max(const moments& of, learned_column& column) const {
    const double range = of.most - of.least;
    const double low = option("low");
    const double scale =
        (option("high") - low) / divisor(range, is_nothing(range), column);
    keep(column, low - of.least * scale, scale);
  }

  void max_abs(const moments& of, learned_column& column) const {
    const double most = std::max(std::abs(of.least), std::abs(of.most));
    keep(column, 0, divisor(most, is_nothing(most), column));
  }

  void robust(const ranked_values& of, learned_column& column) const {
    const double range =
        of.quantile(option("high")) - of.quantile(option("low"));
    keep(column, of.quantile(0.5), divisor(range, is_nothing(range), column));
  }
};

} // namespace

std::unique_ptr<fitted_operator> make_scale_operator(const fit_terms& terms) {
  const auto refuse_order = [&] {
    if (value_of<double>(terms.what, "low") <
        value_of<double>(terms.what, "high"))
      return;
    throw ballast_error(errc::invalid_job,
                        terms.pointer + "/low: expected less than \"high\"",
                        terms.pointer + "/low");
  };
  switch (terms.what.what) {
  case op::min_max:
  case op::robust:
    refuse_order();
    [[fallthrough]];
  case op::standardize:
  case op::max_abs:
    return std::make_unique<scale_operator>(terms);
  default:
    return nullptr;
  }
}

} // namespace ballast::data
