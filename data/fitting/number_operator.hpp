/// What operators on single columns of numbers share: each is replaced by
/// numbers, made of it alone. Includes Arrow; for source files of data/fitting/
/// only.
#pragma once

#include "data/fitting/fitted_operator.hpp"

#include <arrow/api.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace ballast::data {

class number_operator : public fitted_operator {
public:
  using fitted_operator::fitted_operator;

  std::vector<output_column>
  layout(const arrow::Schema& input,
         const fitted_state& /*state*/) const override {
    output_layout out(input);
    for (const std::string& name : columns())
      out.replace(name, {{name, made_type()}});
    return out.take(terms().pointer + "/columns");
  }

  std::unique_ptr<bound_operator>
  bind(std::shared_ptr<const fitted_state> state) const override;

protected:
  virtual std::shared_ptr<arrow::DataType> made_type() const {
    return arrow::float64();
  }
  /// Of finite numbers. `place`: of their rows.
  virtual std::shared_ptr<arrow::Array>
  made_of(std::span<const double> values, const learned_column& column,
          const row_finder& place) const = 0;
  fit_needs needs_of_each(bool moments, bool quantiles) const {
    fit_needs out;
    for (const std::string& name : columns())
      out.columns.push_back(
          {.column = name, .moments = moments, .quantiles = quantiles});
    return out;
  }

private:
  friend class bound_numbers;
};

/// Calls learn(facts, column) for each.
template <class Learn>
void learn_each(const learned_facts& facts, fitted_state& into,
                const Learn& learn) {
  for (size_t i = 0; i < into.columns.size(); ++i)
    learn(facts.columns[i], into.columns[i]);
}

inline double number_of(const learned_column& column, const char* name) {
  return column.numbers.at(name).at(0);
}

} // namespace ballast::data
