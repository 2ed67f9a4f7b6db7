/// The order in which what the leaves of a step contribute is added up
/// (reduction canonical): one binary tree over the leaf numbers, the same for
/// every number of workers, so that the sum has the same bits for all of them.
///
/// Node [a, a + 2^k) has the children [a, a + 2^(k-1)) and the rest. An absent
/// leaf is left out, never added as zero: -0.0 + 0.0 is not -0.0. A worker adds
/// up the maximal nodes inside its range; what is left of the tree are sums of
/// those, which a fixed_sum lists. Pure.
#pragma once

#include "runtime/ledger/leaves.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace ballast::ledger {

/// 2^k leaves from a multiple of 2^k on.
struct tree_node {
  uint32_t begin = 0;
  uint32_t leaves = 1;
  friend bool operator==(const tree_node&, const tree_node&) = default;
};

/// The largest nodes that lie in a range and cover it, in order: at most 2
/// log2(leaves) of them.
std::vector<tree_node> nodes_of(leaf_range part);

/// A sum whose order is fixed, in postfix order: a term is a part of a rank, or
/// (rank -1) the sum of the two values before it. Equal on every rank.
struct fixed_sum {
  struct term {
    int32_t rank = -1;
    uint32_t part = 0; // of that rank's
    friend bool operator==(const term&, const term&) = default;
  };
  std::vector<term> terms;
  /// How many parts each rank contributes.
  std::vector<uint32_t> parts;
  friend bool operator==(const fixed_sum&, const fixed_sum&) = default;
};

/// The sum of all leaves that have rows, of a step of `rows` rows; part p of a
/// rank is node p of those nodes of its ranges, one range after the other, that
/// have a leaf with rows. A rank with no such node contributes nothing.
/// Precondition: the ranges are disjoint and cover [0, leaves); leaves is a
/// power of two; rows > 0.
fixed_sum sum_of_ranks(std::span<const leaf_ranges> by_rank, uint32_t leaves,
                       uint64_t rows);
/// Of ranks that have one range each.
fixed_sum sum_of_ranks(std::span<const leaf_range> ranges, uint32_t leaves,
                       uint64_t rows);

/// The values that are on the stack at once while `how` is added up.
uint32_t depth_of(const fixed_sum& how);

} // namespace ballast::ledger
