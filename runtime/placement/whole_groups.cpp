#include "runtime/placement/whole_groups.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace ballast {

namespace {

struct group_rows {
  std::vector<uint64_t> rows;         // in the order of the lists
  std::map<size_t, uint64_t> at_rank; // rows by worker
};

std::vector<group_rows> collect(const row_lists& lists,
                                std::span<const uint32_t> group) {
  std::map<uint32_t, group_rows> found;
  for (size_t rank = 0; rank < lists.size(); ++rank)
    for (uint64_t row : lists[rank]) {
      group_rows& one = found[group[row]];
      one.rows.push_back(row);
      ++one.at_rank[rank];
    }
  std::vector<group_rows> out;
  for (auto& [number, one] : found)
    out.push_back(std::move(one));
  return out;
}

/// Rows that a list still lacks of its size; below 0: it has more.
using missing_rows = std::vector<int64_t>;

size_t best_rank(const group_rows& one, const missing_rows& missing) {
  const size_t size = one.rows.size();
  const auto needed = int64_t(size - size / 2);
  size_t best = missing.size();
  for (const auto& [rank, rows] : one.at_rank)
    if (missing[rank] >= needed &&
        (best == missing.size() || rows > one.at_rank.at(best)))
      best = rank;
  if (best < missing.size())
    return best;
  return size_t(std::max_element(missing.begin(), missing.end()) -
                missing.begin());
}

} // namespace

row_lists with_whole_groups(const row_lists& lists,
                            std::span<const uint32_t> group) {
  std::vector<group_rows> groups = collect(lists, group);
  std::vector<size_t> order(groups.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return groups[a].rows.size() > groups[b].rows.size();
  });
  missing_rows missing;
  for (const std::vector<uint64_t>& list : lists)
    missing.push_back(int64_t(list.size()));
  std::vector<size_t> rank_of(groups.size());
  std::vector<size_t> groups_at(lists.size());
  for (size_t index : order) {
    const size_t rank = best_rank(groups[index], missing);
    rank_of[index] = rank;
    ++groups_at[rank];
    missing[rank] -= int64_t(groups[index].rows.size());
  }
  // The smallest groups of who has several, to who has none.
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
    out[rank_of[index]].insert(out[rank_of[index]].end(),
                               groups[index].rows.begin(),
                               groups[index].rows.end());
  return out;
}

size_t different_groups(std::span<const uint32_t> group) {
  return std::set<uint32_t>(group.begin(), group.end()).size();
}

} // namespace ballast
