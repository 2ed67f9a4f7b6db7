/// Finds the places where a list of moves may be cut off: the state after the
/// first moves must be as good to train in as the state before. No worker's
/// skew exceeds the budget, or the largest skew before; and no worker exceeds
/// its size by more than the largest excess before, or than one chunk. Pure.
#pragma once

#include "runtime/balance/held_labels.hpp"

#include <cstdint>
#include <vector>

namespace ballast::balance {

class move_prefix {
public:
  /// Positioned before the first move. `pieces` are at their owners.
  move_prefix(const std::vector<movable_piece>& pieces,
              const label_counts& target, double skew_max);

  /// Applies one more move.
  void move(const movable_piece& piece, uint32_t from, uint32_t to);
  /// True if the list may end here.
  bool good() const;
  /// The same for sizes alone.
  bool good_sizes() const { return most_over_size() <= over_size_allowed_; }

private:
  double most_over_size() const;
  double most_skew() const;

  held_labels held_;
  std::vector<double> skew_; // by rank
  double skew_allowed_ = 1;
  double over_size_allowed_ = 0; // part of the size
};

} // namespace ballast::balance
