#include "runtime/ledger/kept_leaves.hpp"

#include "runtime/ledger/leaf_tree.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace ballast::ledger {

namespace {

uint32_t count(const leaf_ranges& of) {
  uint32_t out = 0;
  for (leaf_range one : of)
    out += count(one);
  return out;
}

/// Those in no range.
std::vector<uint32_t> not_in(std::span<const leaf_ranges> by_rank,
                             uint32_t leaves) {
  std::vector<bool> there(leaves);
  for (const leaf_ranges& own : by_rank)
    for (leaf_range one : own)
      std::fill(there.begin() + one.begin, there.begin() + one.end, true);
  std::vector<uint32_t> out;
  for (uint32_t leaf = 0; leaf < leaves; ++leaf)
    if (!there[leaf])
      out.push_back(leaf);
  return out;
}

/// How many more each rank gets.
std::vector<uint32_t> spread(size_t more, std::span<const leaf_ranges> had,
                             std::span<const leaf_range> wanted) {
  std::vector<uint32_t> out(had.size());
  for (; more > 0; --more) {
    size_t next = had.size();
    // The least of (leaves + 1) / wanted; spares want none.
    const auto load = [&](size_t rank) {
      return uint64_t{count(had[rank]) + out[rank] + 1};
    };
    for (size_t rank = 0; rank < had.size(); ++rank)
      if (count(wanted[rank]) > 0 &&
          (next == had.size() ||
           load(rank) * count(wanted[next]) < load(next) * count(wanted[rank])))
        next = rank;
    ++out[next];
  }
  return out;
}

bool too_many_parts(const leaf_ranges& of, uint32_t leaves) {
  size_t parts = 0;
  for (leaf_range one : of)
    parts += nodes_of(one).size();
  return parts > std::max<size_t>(1, 2 * size_t(std::bit_width(leaves) - 1));
}

} // namespace

std::optional<std::string> leaves_error(std::span<const leaf_ranges> by_rank,
                                        uint32_t leaves) {
  std::vector<bool> there(leaves);
  uint32_t seen = 0;
  for (size_t rank = 0; rank < by_rank.size(); ++rank)
    for (leaf_range one : by_rank[rank]) {
      if (one.begin > one.end || one.end > leaves)
        return "rank " + std::to_string(rank) + " keeps leaves [" +
               std::to_string(one.begin) + ", " + std::to_string(one.end) +
               ") of " + std::to_string(leaves);
      for (uint32_t leaf = one.begin; leaf < one.end; ++leaf, ++seen) {
        if (there[leaf])
          return "two ranks keep leaf " + std::to_string(leaf);
        there[leaf] = true;
      }
    }
  if (seen < leaves)
    return "nobody computes " + std::to_string(leaves - seen) + " of " +
           std::to_string(leaves) + " leaves";
  return std::nullopt;
}

kept_leaves keep_leaves(step_number step, std::vector<leaf_ranges> had,
                        std::span<const uint64_t> batch_weights,
                        uint32_t leaves) {
  const std::vector<uint32_t> lost = not_in(had, leaves);
  if (lost.size() == leaves)
    return {};
  const std::vector<uint32_t> more =
      spread(lost.size(), had, split_leaves(leaves, batch_weights));
  size_t at = 0;
  for (size_t rank = 0; rank < had.size(); ++rank) {
    const size_t kept = had[rank].size();
    for (const size_t end = at + more[rank]; at < end; ++at) {
      leaf_ranges& own = had[rank];
      // What it had keeps its parts of the sum, so it is not joined to.
      if (own.size() > kept && own.back().end == lost[at])
        ++own.back().end;
      else
        own.push_back({lost[at], lost[at] + 1});
    }
    if (too_many_parts(had[rank], leaves))
      return {};
  }
  return {step, std::move(had)};
}

} // namespace ballast::ledger
