#include "runtime/ledger/spot_checks.hpp"

namespace ballast::ledger {

std::vector<spot_check> spot_checks(std::span<const leaf_ranges> by_rank,
                                    uint64_t rows, uint32_t leaves,
                                    uint64_t turn) {
  const auto ranks = uint32_t(by_rank.size());
  std::vector<spot_check> out;
  std::vector<uint32_t> with_rows;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    with_rows.clear();
    for (leaf_range one : by_rank[rank])
      for (uint32_t leaf = one.begin; leaf < one.end; ++leaf) {
        const step_rows part = rows_of({leaf, leaf + 1}, rows, leaves);
        if (part.begin < part.end)
          with_rows.push_back(leaf);
      }
    if (with_rows.empty())
      continue;
    out.push_back({with_rows[turn % with_rows.size()], rank,
                   (rank + ranks - 1) % ranks,
                   ranks > 2 ? int32_t((rank + 1) % ranks) : -1});
  }
  return out;
}

} // namespace ballast::ledger
