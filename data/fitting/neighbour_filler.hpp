/// Fills the missing numbers of rows with those of the nearest training rows
/// that have them: what `impute` does with strategy "knn". Immutable; any
/// thread. Errors: row_error of a number that is too large for a distance.
#pragma once

#include "data/fitting/column_values.hpp"
#include "data/fitting/fitted_state.hpp"
#include "data/neighbours/gapped_points.hpp"

#include <functional>
#include <vector>

namespace ballast::data {

/// In a state: rows x columns, infinite where one is missing, as a missing
/// number that equals itself.
inline constexpr const char* donors_name = "donors";

class neighbour_filler {
public:
  /// `by_distance`: whether a near row counts for more.
  neighbour_filler(const fitted_state& state, size_t neighbours,
                   bool by_distance);

  /// One column of numbers for each of the state's. `refuse(row, column)`
  /// throws.
  std::vector<std::vector<double>>
  filled(const std::vector<number_column>& columns,
         const std::function<void(int64_t row, size_t column)>& refuse) const;

private:
  double value_of(const gapped_search& search, size_t column) const;

  const gapped_points donors_;
  const size_t neighbours_;
  const bool by_distance_;
  std::vector<double> means_; // where no donor has a distance
};

} // namespace ballast::data
