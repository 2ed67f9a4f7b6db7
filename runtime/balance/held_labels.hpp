/// What workers hold while pieces come and go: rows, and how far their labels
/// are from those of the whole set. Pure.
#pragma once

#include "runtime/balance/quota_distance.hpp"

#include <cstdint>
#include <vector>

namespace ballast {

class held_labels {
public:
  /// Nobody holds anything yet. The target says how large each is to be, and
  /// its sums are the whole set.
  explicit held_labels(const label_counts& target);

  void add(const movable_piece& piece, uint32_t rank) { add(piece, rank, 1); }
  void remove(const movable_piece& piece, uint32_t rank) {
    add(piece, rank, -1);
  }

  size_t workers() const { return sizes_.size(); }
  double rows_of(uint32_t rank) const { return rows_[rank]; }
  /// The size that the target gives it.
  double size_of(uint32_t rank) const { return sizes_[rank]; }
  /// Total variation distance from the whole set, O(classes); 0 for no rows.
  double skew_of(uint32_t rank) const;

private:
  void add(const movable_piece& piece, uint32_t rank, double sign);

  size_t classes_;
  std::vector<double> global_; // by class: part of all rows
  std::vector<double> held_;   // [rank * classes + class]
  std::vector<double> rows_;   // by rank
  std::vector<double> sizes_;  // by rank
};

} // namespace ballast
