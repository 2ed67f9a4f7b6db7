#include "runtime/repair.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace ballast {

namespace {

bool poorer(const share& a, const share& b) {
  return rows(a) < rows(b);
}

/// The newcomers' part: whole pieces of whoever has most.
void give_to(std::vector<share>& shares, size_t newcomer) {
  while (true) {
    auto richest = std::max_element(shares.begin(), shares.end(), poorer);
    share& target = shares[newcomer];
    if (richest->intervals.empty())
      return;
    const interval& piece = richest->intervals.back();
    if (rows(target) + rows(piece) >= rows(*richest))
      return;
    target.intervals.push_back(piece);
    richest->intervals.pop_back();
  }
}

} // namespace

plan repaired_plan(const plan& before, const std::vector<worker_id>& workers,
                   generation gen, plan_number number) {
  std::map<worker_id, const share*> old;
  for (const share& one : before.shares)
    old[one.worker] = &one;
  plan out{number, gen, {}};
  std::vector<size_t> newcomers;
  for (worker_id who : workers) {
    auto found = old.find(who);
    if (found == old.end()) {
      newcomers.push_back(out.shares.size());
      out.shares.push_back({who, number, 0, {}, 0});
    } else {
      out.shares.push_back(*found->second);
    }
  }
  std::set<worker_id> here(workers.begin(), workers.end());
  std::vector<interval> orphans;
  for (const share& one : before.shares)
    if (!here.contains(one.worker))
      orphans.insert(orphans.end(), one.intervals.begin(), one.intervals.end());
  std::sort(orphans.begin(), orphans.end(),
            [](const interval& a, const interval& b) {
              return rows(a) != rows(b) ? rows(a) > rows(b) : a < b;
            });
  std::vector<uint64_t> owned;
  for (const share& one : out.shares)
    owned.push_back(rows(one));
  for (const interval& piece : orphans) {
    auto poorest =
        size_t(std::min_element(owned.begin(), owned.end()) - owned.begin());
    out.shares[poorest].intervals.push_back(piece);
    owned[poorest] += rows(piece);
  }
  for (size_t rank : newcomers)
    give_to(out.shares, rank);

  for (size_t rank = 0; rank < out.shares.size(); ++rank) {
    share& now = out.shares[rank];
    std::sort(now.intervals.begin(), now.intervals.end());
    auto found = old.find(now.worker);
    if (found != old.end() && found->second->intervals == now.intervals)
      continue; // the sequence goes on
    now.since = number;
    now.stream = uint32_t(rank);
    now.batch_weight = rows(now);
  }
  return out;
}

} // namespace ballast
