#include "data/fitting/neighbour_filler.hpp"

#include "data/neighbours/class_index.hpp"

#include <cmath>
#include <limits>
#include <span>

namespace ballast::data {

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

std::vector<double> with_gaps(std::vector<double> donors) {
  for (double& one : donors)
    if (std::isinf(one))
      one = no_number;
  return donors;
}

} // namespace

neighbour_filler::neighbour_filler(const fitted_state& state, size_t neighbours,
                                   bool by_distance)
    : donors_(with_gaps(state.numbers.at(donors_name)), state.columns.size()),
      neighbours_(neighbours), by_distance_(by_distance) {
  for (const learned_column& one : state.columns)
    means_.push_back(one.numbers.at("value").at(0));
}

std::vector<std::vector<double>> neighbour_filler::filled(
    const std::vector<number_column>& columns,
    const std::function<void(int64_t row, size_t column)>& refuse) const {
  std::vector<std::vector<double>> out;
  for (const number_column& one : columns)
    out.emplace_back(one.values().begin(), one.values().end());
  gapped_search search(donors_, neighbours_);
  std::vector<double> point(columns.size());
  const size_t rows = out.empty() ? 0 : out[0].size();
  for (size_t row = 0; row < rows; ++row) {
    bool lacks = false;
    for (size_t c = 0; c < columns.size(); ++c) {
      const bool missing = columns[c].is_missing(int64_t(row));
      lacks = lacks || missing;
      point[c] = missing ? no_number : out[c][row];
    }
    if (!lacks)
      continue;
    for (size_t c = 0; c < columns.size(); ++c)
      if (std::abs(point[c]) > class_index::values_max())
        refuse(int64_t(row), c);
    search.look(point.data());
    for (size_t c = 0; c < columns.size(); ++c)
      if (std::isnan(point[c]))
        out[c][row] = value_of(search, c);
  }
  return out;
}

double neighbour_filler::value_of(const gapped_search& search,
                                  size_t column) const {
  const std::span<const neighbour> near = search.having(column);
  if (near.empty())
    return means_[column];
  // Equal rows alone count, where some are: their weight has no number.
  const bool equal = by_distance_ && near[0].squared == 0;
  double sum = 0, weights = 0;
  for (const neighbour& one : near) {
    if (equal && one.squared > 0)
      break;
    const double weight =
        by_distance_ && !equal ? 1 / std::sqrt(one.squared) : 1;
    sum += weight * donors_.at(one.row)[column];
    weights += weight;
  }
  return sum / weights;
}

} // namespace ballast::data
