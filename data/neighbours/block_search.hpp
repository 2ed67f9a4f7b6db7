/// The nearest neighbours of up to 32 queries that lie near each other: one
/// pass over the blocks that may hold some, the nearest block first, until the
/// next is further than what every query already has.
///
/// float32 chooses (block_kernels.hpp), float64 decides (squared_distance):
/// what is found is exact, ties go to the lower row. A query does not find
/// itself, by its row; equal points of other rows it does.
///
/// One thread; the index stays as long as this.
#pragma once

#include "data/neighbours/class_index.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace ballast::data {

/// Further than anything.
constexpr neighbour nobody{std::numeric_limits<double>::infinity(), no_row};

/// Rows that count for nothing: 1 at their number. Empty: there are none.
using gone_rows = std::span<const uint8_t>;

class block_search {
public:
  /// `most`: of neighbours of each query.
  block_search(const class_index& index, size_t most, gone_rows gone = {});

  /// Begins with these rows, which know no neighbour yet.
  void begin(const query_group& queries);
  /// Looks into a class for neighbours that are nearer than those that are
  /// known. `blocks_max`: ends after so many blocks with what was found then.
  void look_into(uint32_t of_class, size_t blocks_max = SIZE_MAX);
  /// The same among points that are not of the index, but were placed in its
  /// space; their rows are those of `points`.
  void look_into(const point_blocks& blocks, const point_view& points,
                 size_t blocks_max = SIZE_MAX);

  size_t queries() const { return count_; }
  /// Sorted; at most `most`. A query's number is its place in the group.
  std::span<const neighbour> found(size_t query) const {
    return {lists_.data() + query * most_, known_[query]};
  }
  /// The last of `most`, or nobody.
  neighbour furthest(size_t query) const {
    return known_[query] < most_ ? nobody : lists_[query * most_ + most_ - 1];
  }
  /// Only neighbours before this one are looked for from now on.
  void look_before(size_t query, const neighbour& bound);
  /// Forgets what it knows; the places of the queries stay.
  void forget(size_t query);
  /// Of this query nothing more is looked for.
  void dismiss(size_t query);
  bool offer(size_t query, const neighbour& one);

private:
  void box();
  void set_limit(size_t query);
  float widest() const;
  void look_into_group(const point_blocks& blocks, size_t group);
  void look_into_block(const point_blocks& blocks, size_t block);
  bool counts(size_t query, uint32_t row) const;

  const class_index& index_;
  const size_t most_;
  const gone_rows gone_;
  const size_t dimensions_;
  size_t count_ = 0;
  std::vector<uint32_t> rows_;
  std::vector<float> places_;     // dimensions x block_width
  std::vector<float> low_, high_; // of all queries
  std::array<double, block_width> norms_{};
  std::vector<neighbour> lists_;
  std::array<size_t, block_width> known_{};
  std::array<neighbour, block_width> bounds_{};
  std::array<float, block_width> limits_{};
  // Of the look that is under way.
  size_t blocks_left_ = 0;
  point_view points_;
  // Scratch.
  std::vector<std::pair<float, uint32_t>> order_;
  std::vector<float> squared_;
  std::array<uint32_t, block_width> masks_{};
};

} // namespace ballast::data
