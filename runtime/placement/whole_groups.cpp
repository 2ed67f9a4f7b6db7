#include "runtime/placement/whole_groups.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace ballast::placement {

namespace {

/// The rows of one group, by worker.
using rows_at = std::map<size_t, uint64_t>;

/// How many rows a list is below its size; negative if it is above.
using missing_rows = std::vector<int64_t>;

size_t best_rank(const rows_at& held, uint64_t size,
                 const missing_rows& missing) {
  const auto needed = int64_t(size - size / 2);
  size_t best = missing.size();
  for (const auto& [rank, rows] : held)
    if (missing[rank] >= needed &&
        (best == missing.size() || rows > held.at(best)))
      best = rank;
  if (best < missing.size())
    return best;
  return size_t(std::max_element(missing.begin(), missing.end()) -
                missing.begin());
}

} // namespace

row_lists rows_by_group(std::span<const uint64_t> rows,
                        std::span<const uint32_t> group) {
  std::map<uint32_t, size_t> index;
  row_lists out;
  for (uint64_t row : rows) {
    const size_t at = index.try_emplace(group[row], out.size()).first->second;
    if (at == out.size())
      out.emplace_back();
    out[at].push_back(row);
  }
  return out;
}

row_lists with_whole_groups(const row_lists& lists,
                            std::span<const uint32_t> group) {
  std::vector<uint64_t> all;
  std::vector<size_t> worker(group.size()); // by row
  missing_rows missing;
  for (size_t rank = 0; rank < lists.size(); ++rank) {
    missing.push_back(int64_t(lists[rank].size()));
    for (uint64_t row : lists[rank])
      worker[row] = rank;
    all.insert(all.end(), lists[rank].begin(), lists[rank].end());
  }
  const row_lists groups = rows_by_group(all, group);
  std::vector<size_t> order(groups.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return groups[a].size() > groups[b].size();
  });
  std::vector<size_t> rank_of(groups.size());
  std::vector<size_t> groups_at(lists.size());
  for (size_t index : order) {
    const std::vector<uint64_t>& rows = groups[index];
    rows_at held;
    for (uint64_t row : rows)
      ++held[worker[row]];
    const size_t rank = best_rank(held, rows.size(), missing);
    rank_of[index] = rank;
    ++groups_at[rank];
    missing[rank] -= int64_t(rows.size());
  }
  // Moves the smallest groups of workers with several to workers with none.
  for (size_t poor = 0; poor < lists.size(); ++poor)
    for (auto last = order.rbegin();
         groups_at[poor] == 0 && last != order.rend(); ++last)
      if (groups_at[rank_of[*last]] > 1) {
        --groups_at[rank_of[*last]];
        rank_of[*last] = poor;
        ++groups_at[poor];
      }
  row_lists out(lists.size());
  for (size_t index = 0; index < groups.size(); ++index)
    out[rank_of[index]].insert(out[rank_of[index]].end(), groups[index].begin(),
                               groups[index].end());
  return out;
}

size_t different_groups(std::span<const uint32_t> group) {
  return std::set<uint32_t>(group.begin(), group.end()).size();
}

} // namespace ballast::placement
