/// The holdings of the workers while pieces move: rows, and the distance of
/// their labels from those of the whole set. Pure.
#pragma once

#include "runtime/balance/quota_distance.hpp"

#include <cstdint>
#include <vector>

namespace ballast {

class held_labels {
public:
  /// Initially no worker holds anything. The target gives each worker's size,
  /// and its sums are the whole set.
  explicit held_labels(const label_counts& target);

  void add(const movable_piece& piece, uint32_t rank) { add(piece, rank, 1); }
  void remove(const movable_piece& piece, uint32_t rank) {
    add(piece, rank, -1);
  }

  size_t workers() const { return sizes_.size(); }
  double rows_of(uint32_t rank) const { return rows_[rank]; }
  /// Its size in the target.
  double size_of(uint32_t rank) const { return sizes_[rank]; }
  /// Total variation distance from the whole set, O(classes); 0 for no rows.
  double skew_of(uint32_t rank) const;

private:
  void add(const movable_piece& piece, uint32_t rank, double sign);

  size_t classes_;
  std::vector<double> global_; // by class: fraction of all rows
  std::vector<double> held_;   // [rank * classes + class]
  std::vector<double> rows_;   // by rank
  std::vector<double> sizes_;  // by rank
};

} // namespace ballast
