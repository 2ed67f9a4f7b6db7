/// Adds up parts in the order that a fixed_sum says: block by block, so that
/// what is not finished stays in the nearest cache, with the additions of
/// add.hpp. The same parts give the same bits, however a sum is cut.
///
/// Any thread; allocates nothing.
#pragma once

#include "runtime/ledger/leaf_tree.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace ballast::collectives {

/// The most values that a sum may hold at once: of 2^15 leaves.
constexpr uint32_t sum_depth_max = 16;
/// The most parts of one rank; 2 log2(leaves_max) are needed.
constexpr uint32_t rank_parts_max = 64;

/// The parts of one rank, `stride` floats apart. Any alignment of float.
struct rank_parts {
  const float* first = nullptr;
  size_t stride = 0;
};

/// One rank's call. Throws collective_error{mismatch} unless `how` is a sum
/// over `ranks` ranks that takes each part once, within the limits above, and
/// `out` is apart from this rank's parts.
void check_sum_call(const ledger::fixed_sum& how, int ranks, int me,
                    rank_parts mine, const float* out, size_t count);

/// Equal sums have equal hashes: to compare what ranks were asked to do.
uint32_t hash_of(const ledger::fixed_sum& how);

/// The most parts that any rank has, and those of all.
uint32_t most_parts(const ledger::fixed_sum& how);
uint32_t all_parts(const ledger::fixed_sum& how);

/// out[i] = the sum of element begin + i of the parts, `count` elements.
/// `ranks`: the parts of each, by rank. `out` is none of them. `how` is
/// checked.
void add_in_order(const ledger::fixed_sum& how,
                  std::span<const rank_parts> ranks, size_t begin, float* out,
                  size_t count);

} // namespace ballast::collectives
