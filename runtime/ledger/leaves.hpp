/// The leaves of a step (order global): each step is cut into as many equal
/// parts as the job says, whatever workers there are. A worker takes a range of
/// them; what a leaf contributes depends on its rows alone, so a step is the
/// same for every number of workers.
///
/// A step of n rows gives leaf i of L its rows [i n / L, (i + 1) n / L): where
/// there are fewer rows than leaves, some have none, and are absent. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ballast::ledger {

/// Of a job: powers of two.
constexpr uint32_t leaves_max = 1024;

/// Leaves [begin, end).
struct leaf_range {
  uint32_t begin = 0;
  uint32_t end = 0;
  friend bool operator==(const leaf_range&, const leaf_range&) = default;
};
constexpr uint32_t count(leaf_range of) {
  return of.end - of.begin;
}

/// The leaves of one rank in a step: one range, or several that are apart. The
/// parts of the sum that they are (leaf_tree.hpp) are numbered in this order.
using leaf_ranges = std::vector<leaf_range>;

/// Rows [begin, end) of a step.
struct step_rows {
  uint64_t begin = 0;
  uint64_t end = 0;
  friend bool operator==(const step_rows&, const step_rows&) = default;
};

/// Of a step of `rows` rows those of a range of its leaves. Precondition: rows
/// < 2^48.
constexpr step_rows rows_of(leaf_range part, uint64_t rows, uint32_t leaves) {
  return {rows * part.begin / leaves, rows * part.end / leaves};
}

/// The leaves of each rank, one range after another in rank order, in
/// proportion to the ranks' batch weights (all 0: equally), by largest
/// remainder, ties to the lowest rank. Each rank has at least one if there are
/// enough; else the first ranks have one each, and the rest wait as spares.
std::vector<leaf_range> split_leaves(uint32_t leaves,
                                     std::span<const uint64_t> batch_weights);

} // namespace ballast::ledger
