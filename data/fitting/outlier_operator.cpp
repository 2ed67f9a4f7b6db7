/// clip_outliers: what lies too far off the middle.
#include "data/fitting/fitted_operator.hpp"
#include "data/source/bad_rows.hpp"
#include "runtime/graph/fitted_words.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace ballast::data {

namespace {

using graph::outlier_action;
using graph::outlier_kind;
using graph::value_of;

/// Of a normal distribution, the deviation over the median distance.
constexpr double deviations_of_mad = 1.4826;

double usual_limit(outlier_kind kind) {
  switch (kind) {
  case outlier_kind::z:
    return 3;
  case outlier_kind::mad:
    return 3.5;
  case outlier_kind::iqr:
    break;
  }
  return 1.5;
}

std::string limit_text(double limit) {
  char out[32];
  std::snprintf(out, sizeof out, "%.6g", limit);
  return out;
}

class outlier_operator final : public fitted_operator {
public:
  explicit outlier_operator(const fit_terms& terms)
      : fitted_operator(terms),
        kind_(*parse_word<outlier_kind>(
            value_of<std::string>(terms.what, "method"))),
        action_(*parse_word<outlier_action>(
            value_of<std::string>(terms.what, "action"))) {}

  outlier_action action() const { return action_; }

  bool drops_rows() const override { return action_ == outlier_action::remove; }

  fit_needs needs() const override {
    fit_needs out;
    for (const std::string& name : columns())
      out.columns.push_back({.column = name,
                             .moments = kind_ == outlier_kind::z,
                             .quantiles = kind_ != outlier_kind::z});
    return out;
  }

  void learn(const learned_facts& facts, fitted_state& into) const override {
    const auto said = value_of<double>(terms().what, "limit");
    const double limit = said > 0 ? said : usual_limit(kind_);
    for (size_t i = 0; i < into.columns.size(); ++i) {
      const auto [low, high] = limits_of(facts.columns[i], limit);
      into.columns[i].numbers["low"] = {low};
      into.columns[i].numbers["high"] = {high};
    }
  }

  std::vector<output_column>
  layout(const arrow::Schema& input,
         const fitted_state& /*state*/) const override {
    output_layout out(input);
    for (const std::string& name : columns()) {
      if (action_ == outlier_action::clip)
        out.replace(name, {{name, arrow::float64()}});
      if (action_ == outlier_action::mark)
        out.append(name + "_outlier", arrow::uint8());
    }
    return out.take(terms().pointer + "/columns");
  }

  std::unique_ptr<bound_operator>
  bind(std::shared_ptr<const fitted_state> state) const override;

  cell_owner owner(const learned_column& column) const {
    return owner_of(column);
  }

private:
  std::pair<double, double> limits_of(const column_facts& of,
                                      double limit) const {
    if (kind_ == outlier_kind::z)
      return around(of.numbers.mean, limit * of.numbers.deviation());
    const ranked_values values = of.quantiles.ranked();
    if (kind_ == outlier_kind::mad) {
      const double middle = values.quantile(0.5);
      return around(middle,
                    limit * deviations_of_mad * values.median_distance(middle));
    }
    const double first = values.quantile(0.25);
    const double third = values.quantile(0.75);
    return {first - limit * (third - first), third + limit * (third - first)};
  }
  static std::pair<double, double> around(double middle, double far) {
    return {middle - far, middle + far};
  }

  const outlier_kind kind_;
  const outlier_action action_;
};

class bound_outliers final : public bound_operator {
public:
  bound_outliers(const outlier_operator& what,
                 std::shared_ptr<const fitted_state> state)
      : what_(what), state_(std::move(state)) {}

  made_rows apply(const given_rows& rows) override {
    made_rows out;
    for (size_t i = 0; i < rows.columns.size(); ++i) {
      const learned_column& column = state_->columns[i];
      const number_column numbers(rows.columns[i]);
      check_numbers(numbers, what_.owner(column), rows.place);
      const std::span<const double> values = numbers.values();
      const double low = column.numbers.at("low").at(0);
      const double high = column.numbers.at("high").at(0);
      if (what_.action() == outlier_action::clip) {
        const new_cells<double> clipped = new_float64(values.size());
        for (size_t row = 0; row < values.size(); ++row)
          clipped.values[row] = std::min(std::max(values[row], low), high);
        out.columns.push_back(clipped.column);
        continue;
      }
      std::vector<uint8_t> flags(values.size());
      for (size_t row = 0; row < flags.size(); ++row) {
        flags[row] = values[row] < low || values[row] > high ? 1 : 0;
        if (flags[row] != 0 && what_.action() == outlier_action::remove)
          out.removed.push_back(
              {int64_t(row),
               column.name,
               "the number lies beyond the limits of the training rows, " +
                   limit_text(low) + " to " + limit_text(high),
               {}});
      }
      if (what_.action() == outlier_action::mark)
        out.columns.push_back(flag_array(std::move(flags)));
    }
    put_in_order(out.removed);
    return out;
  }

private:
  const outlier_operator& what_;
  const std::shared_ptr<const fitted_state> state_;
};

std::unique_ptr<bound_operator>
outlier_operator::bind(std::shared_ptr<const fitted_state> state) const {
  return std::make_unique<bound_outliers>(*this, std::move(state));
}

} // namespace

std::unique_ptr<fitted_operator> make_outlier_operator(const fit_terms& terms) {
  if (terms.what.what != graph::op::clip_outliers)
    return nullptr;
  return std::make_unique<outlier_operator>(terms);
}

} // namespace ballast::data
