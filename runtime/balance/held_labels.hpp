/// The holdings of the workers while pieces move: rows, and the distance of
/// their labels from those of the whole set. Pure.
#pragma once

#include "runtime/balance/quota_distance.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace ballast::balance {

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
  /// Pieces that would come (sign 1) or go (-1).
  struct change {
    const movable_piece* piece = nullptr;
    double sign = 0;
  };
  /// A lower bound of the skew after these changes, O(labels of the pieces):
  /// most changes are refused for their skew, and need no closer look.
  double least_skew_after(uint32_t rank, std::span<const change> changes);

private:
  /// The distance of a rank in rows, and how it changes with its size.
  struct distance {
    double rows = 0;  // sum over classes of |held - fair part|
    double slope = 0; // by one more row of other classes
    bool fresh = false;
  };
  const distance& distance_of(uint32_t rank);
  void add(const movable_piece& piece, uint32_t rank, double sign);

  size_t classes_;
  std::vector<double> global_;     // by class: fraction of all rows
  std::vector<double> held_;       // [rank * classes + class]
  std::vector<double> rows_;       // by rank
  std::vector<double> sizes_;      // by rank
  std::vector<distance> distance_; // by rank, computed on demand
  std::vector<double> coming_;     // scratch, by class: all 0
  std::vector<uint32_t> touched_;  // scratch
};

} // namespace ballast::balance
