/// Points of which some coordinates are missing, and the nearest of them to
/// another such point. The squared distance of two is the sum of the squared
/// differences of the coordinates that both have, times all coordinates over
/// those: what it would be if the missing ones differed as much as the others
/// (Dixon: "Pattern recognition with partly missing data", IEEE SMC 1979). Two
/// points without a common coordinate have no distance.
///
/// float32 chooses, float64 decides: what is found is exact, ties go to the
/// lower row. All points are looked at, because a point without a coordinate
/// has no place in a tree; blocks of 32 side by side, the coordinates that
/// spread most first, until all 32 are too far.
#pragma once

#include "data/neighbours/block_kernels.hpp"
#include "data/neighbours/point_view.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::data {

/// The squared distance; infinite: there is none. The same bits on every CPU,
/// and for (a, b) and (b, a).
double gapped_distance(const double* a, const double* b, size_t columns);

/// Immutable once built; any thread.
class gapped_points {
public:
  /// rows x columns; NaN: missing; else at most class_index::values_max().
  gapped_points(std::vector<double> values, size_t columns);

  size_t columns() const { return columns_; }
  size_t rows() const { return rows_; }
  const double* at(size_t row) const { return values_.data() + row * columns_; }

private:
  friend class gapped_search;

  void choose_order();
  void fill_blocks();

  const std::vector<double> values_;
  const size_t columns_;
  const size_t rows_;
  std::vector<double> mean_;    // of each column
  double scale_ = 1;            // no coordinate is above 1 then
  std::vector<uint32_t> order_; // columns, those that spread most first
  /// Blocks x columns in that order x block_width; 0 where one is missing,
  /// which is 1 in `there_` elsewhere.
  std::vector<float> places_;
  std::vector<float> there_;
};

/// Finds, one point after another. One thread; the points stay as long as this.
class gapped_search {
public:
  /// `most`: of each coordinate.
  gapped_search(const gapped_points& among, size_t most);

  /// For each coordinate that `point` lacks, the nearest points that have it.
  void look(const double* point);
  /// Of the last point; the nearest first.
  std::span<const neighbour> having(size_t column) const {
    return found_[column];
  }

private:
  void choose_coordinates(const double* point);
  void set_limit();
  void compare(const double* point, uint32_t row);

  const gapped_points& all_;
  const size_t most_;
  std::vector<std::vector<neighbour>> found_; // by column
  std::vector<uint32_t> lacking_;
  // Of the point: its coordinates, as float32 in the order of the points.
  std::vector<uint32_t> coordinates_; // their places in that order
  std::vector<float> places_;
  double furthest_ = 0; // of these
  float limit_ = 0;
};

} // namespace ballast::data
