#include "runtime/ledger/leaf_tree.hpp"

#include <algorithm>
#include <bit>

namespace ballast::ledger {

namespace {

/// The tree from its root down, each value before the sum that it is part of.
class tree_walk {
public:
  tree_walk(std::span<const leaf_ranges> by_rank, uint32_t leaves,
            uint64_t rows)
      : leaves_(leaves), rows_(rows), range_of_(leaves) {
    for (size_t rank = 0; rank < by_rank.size(); ++rank)
      for (leaf_range one : by_rank[rank]) {
        std::fill(range_of_.begin() + one.begin, range_of_.begin() + one.end,
                  uint32_t(ranks_.size()));
        ranks_.push_back(int32_t(rank));
      }
    parts_.assign(ranks_.size(), 0);
    out_.parts.assign(by_rank.size(), 0);
  }

  /// False: none of the node's leaves has rows.
  bool visit(tree_node node) {
    const step_rows rows =
        rows_of({node.begin, node.begin + node.leaves}, rows_, leaves_);
    if (rows.begin == rows.end)
      return false;
    // The leaves of a range lie side by side: what has its ends there is all
    // there.
    const uint32_t range = range_of_[node.begin];
    if (range == range_of_[node.begin + node.leaves - 1]) {
      out_.terms.push_back({int32_t(range), parts_[range]++});
      return true;
    }
    const uint32_t half = node.leaves / 2;
    const bool low = visit({node.begin, half});
    const bool high = visit({node.begin + half, half});
    if (low && high)
      out_.terms.push_back({});
    return low || high;
  }

  /// What was counted by range, by rank.
  fixed_sum take() {
    std::vector<uint32_t> before(ranks_.size());
    for (size_t range = 0; range < ranks_.size(); ++range) {
      uint32_t& parts = out_.parts[size_t(ranks_[range])];
      before[range] = parts;
      parts += parts_[range];
    }
    for (fixed_sum::term& one : out_.terms)
      if (one.rank >= 0) {
        const auto range = size_t(one.rank);
        one = {ranks_[range], before[range] + one.part};
      }
    return std::move(out_);
  }

private:
  uint32_t leaves_;
  uint64_t rows_;
  std::vector<uint32_t> range_of_; // by leaf
  std::vector<int32_t> ranks_;     // by range
  std::vector<uint32_t> parts_;    // by range, of those visited
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

fixed_sum sum_of_ranks(std::span<const leaf_ranges> by_rank, uint32_t leaves,
                       uint64_t rows) {
  tree_walk walk(by_rank, leaves, rows);
  walk.visit({0, leaves});
  return walk.take();
}

fixed_sum sum_of_ranks(std::span<const leaf_range> ranges, uint32_t leaves,
                       uint64_t rows) {
  std::vector<leaf_ranges> by_rank;
  for (leaf_range one : ranges)
    by_rank.push_back({one});
  return sum_of_ranks(by_rank, leaves, rows);
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
