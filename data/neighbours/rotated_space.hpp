/// Points as the search sees them: moved to their mean, turned so that most of
/// their spread is in the first coordinates, scaled to norms of at most 1, and
/// rounded to float32.
///
/// A rotation keeps distances, so a few coordinates already give a lower bound,
/// the best one that few can give. limit() says how far the rounded distances
/// may be from the true ones; with it the search never loses a point.
///
/// Immutable once built; any thread.
#pragma once

#include "data/neighbours/parallel_work.hpp"
#include "data/neighbours/point_view.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::data {

class rotated_space {
public:
  /// Of these rows, of which at least one is there and all are finite.
  rotated_space(const point_view& points, std::span<const uint32_t> rows,
                const work_terms& how);

  size_t dimensions() const { return columns_; }
  /// Of one of those rows. `out`: dimensions() numbers; `scratch`, too.
  void place(const double* point, float* out, double* scratch) const;
  /// If the distance of two points, one of which has this norm here, is
  /// sqrt(squared) at most, then the sum of the squared differences of their
  /// places, and of some of their coordinates, computed in float32 in any
  /// order, is this at most.
  float limit(double squared, double norm) const;
  /// If their distance is at least that, the sum of all squared differences,
  /// computed likewise, is at least this.
  float at_least(double squared) const;

private:
  void look(const point_view& points, std::span<const uint32_t> rows,
            const work_terms& how);

  size_t columns_;
  std::vector<double> mean_;
  std::vector<double> turn_;  // row c: how much of column c each coordinate has
  std::vector<size_t> order_; // or, of very many columns, only their order
  double scale_ = 1;
  double relative_ = 0; // errors of a sum in float32
  double absolute_ = 0; // of a place, in float64
};

} // namespace ballast::data
