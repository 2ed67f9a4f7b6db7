/// The inner loops of the search for neighbours, for the vectors that the CPU
/// has. Blocks of points lie coordinate by coordinate, so that a vector holds
/// one coordinate of several points. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ballast::data {

/// Points of a block, and boxes of a group. One mask of 32 bits holds a block.
constexpr size_t block_width = 32;
constexpr size_t group_width = 8;

/// The queries of one block and the points of another.
struct block_pair {
  size_t dimensions = 0;
  const float* queries = nullptr; // dimensions x block_width
  const float* points = nullptr;  // dimensions x block_width
  /// The box of the points: coordinate t is low[t * group_width].
  const float* low = nullptr;
  const float* high = nullptr;
  const float* limits = nullptr; // of each query; negative: it is not asked
};

/// Of each query the points whose squared distance is at most its limit, as a
/// mask, and where that is not 0 all distances of the query (block_width x
/// block_width). Returns the queries that have any, as a mask.
uint32_t points_within(const block_pair& what, float* squared, uint32_t* masks);
/// The same, whatever box the points have, and of each query only the points
/// whose own limit is not passed, either.
uint32_t points_nearer(const block_pair& what, const float* point_limits,
                       float* squared, uint32_t* masks);

/// Lower bounds of the squared distances between a box and each of a group
/// (dimensions x group_width).
void box_distances(const float* low, const float* high, const float* group_low,
                   const float* group_high, size_t dimensions, float* squared);
/// Upper bounds of the same.
void box_reaches(const float* low, const float* high, const float* group_low,
                 const float* group_high, size_t dimensions, float* squared);

} // namespace ballast::data
