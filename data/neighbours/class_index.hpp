/// Points by class, ready for the search for neighbours: the blocks of each
/// class that takes part, in one rotated space. A search names the classes that
/// it looks into, so one index serves neighbours of the same class, of other
/// classes and of all.
///
/// Immutable once built; any thread. The points and classes stay as long as
/// this.
#pragma once

#include "data/neighbours/point_blocks.hpp"
#include "data/neighbours/rotated_space.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ballast::data {

/// Up to 32 rows of one class, near each other, whose neighbours are looked for
/// together.
struct query_group {
  uint32_t of_class = 0;
  std::vector<uint32_t> rows;
  std::vector<uint32_t> places; // of each among the rows that were asked for
};

class class_index {
public:
  /// `of_row`: the class of each row, below `classes`. `used`: which classes
  /// take part, of each class; at least one row does. Values: finite, below
  /// values_max().
  class_index(const point_view& points, std::span<const uint32_t> of_row,
              uint32_t classes, std::vector<bool> used, const work_terms& how);

  /// Larger ones have squares beyond float64.
  static constexpr double values_max() { return 1e150; }

  const point_view& points() const { return points_; }
  const rotated_space& space() const { return *space_; }
  uint32_t classes() const { return uint32_t(blocks_.size()); }
  uint32_t class_of(uint32_t row) const { return of_row_[row]; }
  size_t rows_of_class(uint32_t of) const {
    return blocks_[of] ? blocks_[of]->size() : 0;
  }
  /// Precondition: the class takes part and has a row.
  const point_blocks& blocks_of(uint32_t of) const { return *blocks_[of]; }
  bool has(uint32_t of) const { return blocks_[of].has_value(); }
  /// Every class that takes part and has a row.
  std::vector<uint32_t> all() const;

  /// Rows, each of a class that takes part, as groups that are near each other.
  std::vector<query_group> grouped(std::span<const uint32_t> rows) const;
  /// A row's place, in the layout of a block of queries: coordinate t goes to
  /// out[t * block_width].
  void place_of(uint32_t row, float* out) const;

private:
  point_view points_;
  std::span<const uint32_t> of_row_;
  std::optional<rotated_space> space_;
  std::vector<std::optional<point_blocks>> blocks_; // by class
  std::vector<uint32_t> place_;                     // of each row in its class
};

} // namespace ballast::data
