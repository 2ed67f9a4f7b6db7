/// Where a list of moves may be cut off: what the workers hold once the first
/// of them are done, and whether that is as good a state to train in as the one
/// before: nobody's labels further off than the budget allows, or than the
/// worst were, and nobody further above its size than the furthest was, or than
/// one chunk. Pure.
#pragma once

#include "runtime/balance/held_labels.hpp"

#include <cstdint>
#include <vector>

namespace ballast {

class move_prefix {
public:
  /// Before the first move. `pieces` lie at their owners.
  move_prefix(const std::vector<movable_piece>& pieces,
              const label_counts& target, double skew_max);

  /// One more move is done.
  void move(const movable_piece& piece, uint32_t from, uint32_t to);
  /// The list may end here.
  bool good() const;

private:
  double most_over_size() const;
  double most_skew() const;

  held_labels held_;
  std::vector<double> skew_; // by rank
  double skew_allowed_ = 1;
  double over_size_allowed_ = 0; // part of the size
};

} // namespace ballast
