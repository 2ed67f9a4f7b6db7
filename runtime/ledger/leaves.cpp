#include "runtime/ledger/leaves.hpp"

#include "runtime/ledger/take.hpp"

#include <algorithm>

namespace ballast::ledger {

std::vector<leaf_range> split_leaves(uint32_t leaves,
                                     std::span<const uint64_t> batch_weights) {
  const auto ranks = uint32_t(batch_weights.size());
  std::vector<leaf_range> out(ranks);
  const uint32_t busy = std::min(ranks, leaves);
  std::vector<uint64_t> counts(ranks, 0);
  std::vector<take_input> in(ranks);
  for (uint32_t rank = 0; rank < busy; ++rank)
    in[rank] = {batch_weights[rank], leaves};
  std::vector<uint64_t> wanted = split_batch(leaves, in);
  // One each at least, so that a slow worker's speed is known at all.
  uint64_t over = 0;
  for (uint32_t rank = 0; rank < busy; ++rank) {
    over += wanted[rank] == 0 ? 1 : 0;
    counts[rank] = std::max<uint64_t>(wanted[rank], 1);
  }
  // It comes from those who have most, ties from the highest rank.
  for (; over > 0; --over) {
    uint32_t most = 0;
    for (uint32_t rank = 0; rank < busy; ++rank)
      if (counts[rank] >= counts[most])
        most = rank;
    --counts[most];
  }
  uint32_t begin = 0;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    out[rank] = {begin, begin + uint32_t(counts[rank])};
    begin = out[rank].end;
  }
  return out;
}

} // namespace ballast::ledger
