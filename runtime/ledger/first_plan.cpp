/// The first plan of a run: ownership before anything is measured.
#include "runtime/ledger/manifest.hpp"
#include "runtime/ledger/plan.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace ballast::ledger {
namespace {

/// Deals whole chunks to `count` workers so that their rows differ least: the
/// longest chunk first, always to the worker with the fewest rows. This fixes
/// only how many chunks of each length a worker gets; it then gets consecutive
/// ids of each length, so that it reads the set in few contiguous stretches.
std::vector<std::vector<chunk_id>> deal(const manifest& set, size_t count) {
  std::map<uint32_t, std::vector<chunk_id>, std::greater<>> by_length;
  for (const chunk_info& chunk : set.train)
    if (chunk.rows > 0)
      by_length[chunk.rows].push_back(chunk.id);

  std::vector<std::vector<chunk_id>> groups(count);
  std::vector<uint64_t> owned(count, 0);
  for (const auto& [length, ids] : by_length) {
    std::vector<size_t> given(count, 0);
    for (size_t i = 0; i < ids.size(); ++i) {
      size_t poorest =
          size_t(std::min_element(owned.begin(), owned.end()) - owned.begin());
      owned[poorest] += length;
      ++given[poorest];
    }
    auto next_id = ids.begin();
    for (size_t rank = 0; rank < count; ++rank) {
      auto end = next_id + std::ptrdiff_t(given[rank]);
      groups[rank].insert(groups[rank].end(), next_id, end);
      next_id = end;
    }
  }
  return groups;
}

} // namespace

plan first_plan(const manifest& set, const std::vector<worker_id>& workers,
                generation gen, plan_number number) {
  std::vector<std::vector<chunk_id>> groups =
      set.placement.size() == workers.size() ? set.placement
                                             : deal(set, workers.size());
  plan out{number, gen, {}};
  for (size_t rank = 0; rank < workers.size(); ++rank) {
    share part{workers[rank], number, 0, {}, uint32_t(rank)};
    std::sort(groups[rank].begin(), groups[rank].end());
    for (chunk_id id : groups[rank])
      if (uint32_t length = set.train.at(value(id)).rows)
        part.intervals.push_back({id, 0, length});
    part.batch_weight = rows(part);
    out.shares.push_back(std::move(part));
  }
  return out;
}

} // namespace ballast::ledger
