/// Points of a rotated space in blocks of neighbours, with a box around each
/// block, each eight blocks (a group) and each eight groups. They are halved
/// along the coordinate in which they spread most, until a half is one block:
/// a k-d tree of which only the leaves are kept. What the search needs of the
/// inner nodes is in the boxes of the groups, which it scans.
///
/// Immutable once built; any thread.
#pragma once

#include "data/neighbours/block_kernels.hpp"
#include "data/neighbours/rotated_space.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::data {

/// Boxes of eight things side by side: coordinate t of thing i is
/// low[t * group_width + i].
struct box_group {
  const float* low;
  const float* high;
};

class point_blocks {
public:
  /// Of these rows. `points` stays as long as this.
  point_blocks(const rotated_space& space, const point_view& points,
               std::vector<uint32_t> rows, const work_terms& how);

  size_t size() const { return size_; }
  size_t blocks() const { return rows_.size() / block_width; }
  /// Blocks in eights; a block that is not there has an endless distance.
  size_t groups() const { return (blocks() + group_width - 1) / group_width; }
  /// Groups in eights.
  size_t supers() const { return (groups() + group_width - 1) / group_width; }

  const float* block(size_t which) const {
    return places_.data() + which * dimensions_ * block_width;
  }
  /// Of a block; no_row where it is not full.
  const uint32_t* rows_of(size_t which) const {
    return rows_.data() + which * block_width;
  }
  /// All rows in the order of the blocks.
  std::span<const uint32_t> rows() const { return {rows_.data(), size_}; }
  box_group boxes_of_group(size_t group) const {
    return at(block_low_, block_high_, group);
  }
  box_group boxes_of_super(size_t super) const {
    return at(group_low_, group_high_, super);
  }

private:
  struct range {
    size_t begin = 0;
    size_t end = 0;
  };

  void order(const std::vector<float>& places, std::vector<uint32_t>& at,
             const work_terms& how) const;
  void split(const std::vector<float>& places, std::vector<uint32_t>& at,
             range what, std::vector<range>& halves) const;
  size_t widest(const std::vector<float>& places,
                const std::vector<uint32_t>& at, range what) const;
  void fill(const std::vector<float>& places, const std::vector<uint32_t>& at,
            const std::vector<uint32_t>& rows, const work_terms& how);
  void fill_group(size_t group);
  box_group at(const std::vector<float>& low, const std::vector<float>& high,
               size_t which) const {
    const size_t from = which * dimensions_ * group_width;
    return {low.data() + from, high.data() + from};
  }

  size_t dimensions_;
  size_t size_;
  std::vector<uint32_t> rows_;
  std::vector<float> places_;
  std::vector<float> block_low_, block_high_; // groups x dimensions x 8
  std::vector<float> group_low_, group_high_; // supers x dimensions x 8
};

} // namespace ballast::data
