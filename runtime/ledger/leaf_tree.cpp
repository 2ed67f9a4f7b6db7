#include "runtime/ledger/leaf_tree.hpp"

#include <algorithm>
#include <bit>

namespace ballast::ledger {

namespace {

constexpr int32_t nobody = -1;

/// The tree from its root down, each value before the sum that it is part of.
class tree_walk {
public:
  tree_walk(std::span<const leaf_range> ranges, uint32_t leaves, uint64_t rows)
      : leaves_(leaves), rows_(rows), owners_(leaves, nobody) {
    out_.parts.assign(ranges.size(), 0);
    for (size_t rank = 0; rank < ranges.size(); ++rank)
      std::fill(owners_.begin() + ranges[rank].begin,
                owners_.begin() + ranges[rank].end, int32_t(rank));
  }

  /// False: none of the node's leaves has rows.
  bool visit(tree_node node) {
    const step_rows rows =
        rows_of({node.begin, node.begin + node.leaves}, rows_, leaves_);
    if (rows.begin == rows.end)
      return false;
    // A rank's leaves lie side by side: what has its ends there is all there.
    const int32_t owner = owners_[node.begin];
    if (owner == owners_[node.begin + node.leaves - 1]) {
      out_.terms.push_back({owner, out_.parts[size_t(owner)]++});
      return true;
    }
    const uint32_t half = node.leaves / 2;
    const bool low = visit({node.begin, half});
    const bool high = visit({node.begin + half, half});
    if (low && high)
      out_.terms.push_back({});
    return low || high;
  }

  fixed_sum take() { return std::move(out_); }

private:
  uint32_t leaves_;
  uint64_t rows_;
  std::vector<int32_t> owners_; // of each leaf
  fixed_sum out_;
};

} // namespace

std::vector<tree_node> nodes_of(leaf_range part) {
  std::vector<tree_node> out;
  for (uint32_t at = part.begin; at < part.end; at += out.back().leaves) {
    const uint32_t fits = std::bit_floor(part.end - at);
    // The lowest bit of a place is the size of the largest node that begins
    // there.
    out.push_back({at, at == 0 ? fits : std::min(fits, at & -at)});
  }
  return out;
}

fixed_sum sum_of_ranks(std::span<const leaf_range> ranges, uint32_t leaves,
                       uint64_t rows) {
  tree_walk walk(ranges, leaves, rows);
  walk.visit({0, leaves});
  return walk.take();
}

uint32_t depth_of(const fixed_sum& how) {
  uint32_t now = 0;
  uint32_t most = 0;
  for (const fixed_sum::term& term : how.terms) {
    now += term.rank >= 0 ? 1 : -1;
    most = std::max(most, now);
  }
  return most;
}

} // namespace ballast::ledger
