/// Points of a space as the caller has them: rows of float64, one after
/// another. Views; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ballast::data {

struct point_view {
  const double* values = nullptr; // rows x columns
  size_t rows = 0;
  size_t columns = 0;

  const double* at(size_t row) const { return values + row * columns; }
};

/// The square of the Euclidean distance in float64, summed in an order that
/// depends on the number of columns alone: the same bits on every CPU, and for
/// (a, b) and (b, a). It decides between points; everything quicker only
/// chooses which points are compared by it.
double squared_distance(const double* a, const double* b, size_t columns);

/// No row.
constexpr uint32_t no_row = UINT32_MAX;

/// A point and its squared distance. Nearer comes first; of two that are
/// equally far, that with the lower row.
struct neighbour {
  double squared = 0;
  uint32_t row = no_row;

  friend bool operator==(const neighbour&, const neighbour&) = default;
  friend bool operator<(const neighbour& a, const neighbour& b) {
    return a.squared < b.squared || (a.squared == b.squared && a.row < b.row);
  }
};

} // namespace ballast::data
