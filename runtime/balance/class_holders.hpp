/// Tracks which workers hold pieces with rows of a class, so that no move
/// leaves a class with a single holder, which may be lost, if the quota has
/// more. Requires two at most: chunks are too coarse for more. Pure.
#pragma once

#include "runtime/balance/quota_distance.hpp"

#include <cstdint>
#include <vector>

namespace ballast::balance {

class class_holders {
public:
  /// Initially no worker holds anything.
  explicit class_holders(const label_counts& target);

  void add(const movable_piece& piece, uint32_t rank);
  void remove(const movable_piece& piece, uint32_t rank);

  /// True if this move would leave a class with fewer holders than it needs and
  /// than it has.
  bool loses(const movable_piece& piece, uint32_t from, uint32_t to) const;
  /// Classes with fewer holders than they need, ascending.
  std::vector<uint32_t> lacking() const;
  uint32_t pieces(uint32_t rank, uint32_t label) const {
    return pieces_[label * workers_ + rank];
  }
  /// Whether the quota has rows of the class at this rank.
  bool may_hold(uint32_t rank, uint32_t label) const {
    return target_[label * workers_ + rank];
  }

private:
  size_t workers_;
  std::vector<bool> target_;      // [class * workers + rank]
  std::vector<uint32_t> pieces_;  // likewise: pieces with rows of the class
  std::vector<uint32_t> holders_; // by class
  std::vector<uint32_t> needed_;  // by class: 0, 1 or 2
};

} // namespace ballast::balance
