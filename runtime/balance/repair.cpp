#include "runtime/balance/repair.hpp"

#include "runtime/balance/coarse_set.hpp"
#include "runtime/balance/memory_fit.hpp"
#include "runtime/balance/quota.hpp"
#include "runtime/balance/shard_moves.hpp"
#include "runtime/balance/skew.hpp"
#include "runtime/placement/placement.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

namespace ballast::balance {

namespace {

/// Skew budgets tried beyond the requested one: the smallest one counts that
/// moves no more rows than no budget at all.
constexpr double wider_budgets[] = {0.1, 0.2, 0.3, 0.5, 1};
/// In units of search_effort: for the quota, and for the pieces.
constexpr uint64_t quota_effort_max = 100'000'000;
constexpr uint64_t search_effort_max = 50'000'000;
/// Of more intervals, groups of them move: a run stands still meanwhile.
constexpr size_t intervals_max = 8192;
constexpr size_t groups = 4096;

/// The workers of both memberships, the new one first, in its order.
ledger::plan everybody(const ledger::plan& before,
                       const std::vector<worker_id>& workers) {
  std::map<worker_id, const ledger::share*> old;
  for (const ledger::share& one : before.shares)
    old[one.worker] = &one;
  ledger::plan out{before.number, before.generation, {}};
  for (worker_id who : workers) {
    auto found = old.find(who);
    out.shares.push_back(found == old.end() ? ledger::share{who, {}, 0, {}, 0}
                                            : *found->second);
    old.erase(who);
  }
  for (const ledger::share& one : before.shares)
    if (old.contains(one.worker))
      out.shares.push_back(one);
  return out;
}

/// Of the remaining workers: their shares of a batch, or all equal.
std::vector<uint64_t> speeds(const ledger::plan& all,
                             const ledger::plan& before, size_t workers) {
  uint64_t sum = 0;
  for (const ledger::share& one : before.shares)
    sum += one.batch_weight;
  uint64_t mean =
      std::max<uint64_t>(1, sum / std::max<size_t>(1, before.shares.size()));
  std::vector<uint64_t> out;
  for (size_t rank = 0; rank < workers; ++rank) {
    const ledger::share& one = all.shares[rank];
    out.push_back(value(one.since) == 0 || one.batch_weight == 0
                      ? mean
                      : one.batch_weight);
  }
  return out;
}

/// Splits `total` so that all workers have the same number of rows per weight,
/// as far as none falls below (`give`: rises above) the rows that it owns.
std::vector<uint64_t> level(uint64_t total, const std::vector<uint64_t>& owned,
                            const std::vector<uint64_t>& weights, bool give) {
  std::vector<bool> fixed(owned.size());
  while (true) {
    std::vector<double> free(owned.size(), 0);
    uint64_t rest = total;
    for (size_t i = 0; i < owned.size(); ++i) {
      if (fixed[i])
        rest -= std::min(rest, owned[i]);
      else
        free[i] = double(weights[i]);
    }
    if (std::all_of(free.begin(), free.end(), [](double w) { return w == 0; }))
      return owned;
    std::vector<uint64_t> sizes = placement::split_by_shares(rest, free);
    bool changed = false;
    for (size_t i = 0; i < owned.size(); ++i) {
      bool wrong = give ? sizes[i] > owned[i] : sizes[i] < owned[i];
      if (!fixed[i] && wrong)
        changed = fixed[i] = true;
      if (fixed[i])
        sizes[i] = owned[i];
    }
    if (!changed)
      return sizes;
  }
}

/// `has`: rows of each, by rank. A pass over a million intervals takes a
/// millisecond, so they are counted once.
std::vector<uint64_t> wanted_sizes(const ledger::plan& all,
                                   const std::vector<uint64_t>& has,
                                   size_t workers,
                                   const std::vector<uint64_t>& weights) {
  const uint64_t total = std::accumulate(has.begin(), has.end(), uint64_t{0});
  std::vector<uint64_t> sizes = placement::split_by_shares(
      total, {weights.begin(), weights.end()}); // right for newcomers
  std::vector<size_t> stayers;
  std::vector<uint64_t> owned, parts;
  uint64_t rest = total;
  for (size_t rank = 0; rank < workers; ++rank) {
    if (value(all.shares[rank].since) == 0) {
      rest -= sizes[rank];
      continue;
    }
    stayers.push_back(rank);
    owned.push_back(has[rank]);
    parts.push_back(weights[rank]);
  }
  bool give = std::accumulate(owned.begin(), owned.end(), uint64_t{0}) > rest;
  if (!stayers.empty()) {
    std::vector<uint64_t> levelled = level(rest, owned, parts, give);
    for (size_t i = 0; i < stayers.size(); ++i)
      sizes[stayers[i]] = levelled[i];
  }
  sizes.resize(all.shares.size(), 0); // lost workers keep nothing
  return sizes;
}

quota least_moves(quota_request request, double skew_tv) {
  search_effort effort(quota_effort_max);
  request.skew_tv = 1;
  uint64_t least = moves_bound(request);
  request.skew_tv = skew_tv;
  const uint64_t cost = fast_quota_effort(request.held);
  quota out = fast_quota(request);
  effort.spend(cost);
  for (double wider : wider_budgets) {
    if (out.moved <= least)
      break;
    if (wider <= skew_tv)
      continue;
    if (!effort.allows(cost))
      break;
    request.skew_tv = wider;
    out = fast_quota(request);
    effort.spend(cost);
  }
  return out;
}

/// Pieces left at lost workers after whole moves go to the poorest worker.
void give_away_rest(ledger::plan& all, size_t workers, plan_number number,
                    std::vector<uint64_t>& owned) {
  owned.resize(workers);
  std::vector<bool> richer(workers);
  for (size_t gone = workers; gone < all.shares.size(); ++gone)
    for (const ledger::interval& piece : all.shares[gone].intervals) {
      const auto poorest =
          size_t(std::min_element(owned.begin(), owned.end()) - owned.begin());
      all.shares[poorest].intervals.push_back(piece);
      owned[poorest] += rows(piece);
      richer[poorest] = true;
    }
  for (size_t rank = 0; rank < workers; ++rank) {
    if (!richer[rank])
      continue;
    ledger::share& one = all.shares[rank];
    ledger::sort_intervals(one);
    one.since = number;
    one.stream = uint32_t(rank);
  }
  all.shares.resize(workers);
}

/// Fewest moves to the sizes.
std::vector<shard_move>
moves_to(const ledger::manifest& set, const chunk_labels& labels,
         const ledger::plan& all, std::vector<uint64_t> sizes, double skew_tv,
         std::function<bool(chunk_id, uint32_t)> locked) {
  search_effort effort(search_effort_max);
  const quota_request request{count_labels(labels, all), std::move(sizes),
                              skew_tv, 2};
  return choose_moves({.set = &set,
                       .current = &all,
                       .target = least_moves(request, skew_tv).target,
                       .locked = std::move(locked),
                       .bytes_max = 0,
                       .room_bytes = {},
                       .size_tolerance = 0.02,
                       .cover = false,
                       .labels = &labels,
                       .effort = &effort})
      .moves;
}

/// Each worker has room for the whole set: no need to look at what it owns.
bool holds_all(const ledger::manifest& set, const chunk_labels& labels,
               const std::vector<uint64_t>& limits) {
  uint64_t bytes = labels.bytes();
  for (const ledger::chunk_info& one : set.test)
    bytes += one.bytes;
  return std::all_of(limits.begin(), limits.end(),
                     [bytes](uint64_t limit) { return limit >= bytes; });
}

size_t interval_count(const ledger::plan& of) {
  size_t out = 0;
  for (const ledger::share& one : of.shares)
    out += one.intervals.size();
  return out;
}

} // namespace

ledger::plan repaired_plan(const ledger::manifest& set, double skew_tv,
                           const ledger::plan& before,
                           const std::vector<worker_id>& workers,
                           generation gen, plan_number number) {
  return repaired_plan(set, chunk_labels(set), skew_tv, before, workers, gen,
                       number);
}

ledger::plan repaired_plan(const ledger::manifest& set,
                           const chunk_labels& labels, double skew_tv,
                           const ledger::plan& before,
                           const std::vector<worker_id>& workers,
                           generation gen, plan_number number) {
  ledger::plan all = everybody(before, workers);
  std::vector<uint64_t> weights = speeds(all, before, workers.size());
  std::vector<uint64_t> owned;
  for (const ledger::share& one : all.shares)
    owned.push_back(rows(one));
  std::vector<uint64_t> sizes =
      wanted_sizes(all, owned, workers.size(), weights);
  std::vector<shard_move> moves;
  if (interval_count(all) <= intervals_max) {
    moves = moves_to(set, labels, all, std::move(sizes), skew_tv, {});
  } else {
    // Only what lost its owner moves, if no newcomer waits for a part; what
    // that does to labels is for the balancer to mend while steps go on.
    const bool newcomer = std::any_of(
        all.shares.begin(), all.shares.end(),
        [](const ledger::share& one) { return value(one.since) == 0; });
    const size_t keepers = newcomer ? 0 : workers.size();
    const coarse_set coarse(set, labels, all, groups, keepers);
    const auto stays = [keepers](chunk_id, uint32_t rank) {
      return rank < keepers;
    };
    moves = coarse.of_intervals(moves_to(coarse.set(), coarse.labels(),
                                         coarse.current(), std::move(sizes),
                                         skew_tv, stays),
                                set);
  }
  bool by_rows = true; // as they were before
  for (size_t rank = 0; rank < all.shares.size(); ++rank)
    by_rows = by_rows && (value(all.shares[rank].since) == 0 ||
                          all.shares[rank].batch_weight == owned[rank]);
  for (const shard_move& one : moves) {
    owned[one.from] -= rows(one.what);
    owned[one.to] += rows(one.what);
  }
  // Batch weights follow below.
  ledger::plan out = moved_plan(all, moves, number, owned);
  give_away_rest(out, workers.size(), number, owned);
  out.number = number;
  out.generation = gen;
  for (size_t rank = 0; rank < workers.size(); ++rank) {
    ledger::share& one = out.shares[rank];
    if (value(one.since) == 0) { // a newcomer that got nothing
      one.since = number;
      one.stream = uint32_t(rank);
    }
    one.batch_weight = by_rows ? owned[rank] : weights[rank];
  }
  return out;
}

placed_shares place(const ledger::manifest& set, double skew_tv,
                    const place_shares& what) {
  return place(set, chunk_labels(set), skew_tv, what);
}

namespace {

std::vector<share_summary> summaries(const chunk_labels& labels,
                                     const ledger::plan& of) {
  const skew_report skews = measure_skew(labels, of);
  std::vector<share_summary> out;
  for (size_t rank = 0; rank < of.shares.size(); ++rank)
    out.push_back(
        {of.shares[rank].worker, rows(of.shares[rank]), skews.by_rank[rank]});
  return out;
}

} // namespace

placed_shares place(const ledger::manifest& set, const chunk_labels& labels,
                    double skew_tv, const place_shares& what) {
  placed_shares out;
  out.what = what.before.shares.empty()
                 ? first_plan(set, what.workers, what.generation, what.number)
                 : repaired_plan(set, labels, skew_tv, what.before,
                                 what.workers, what.generation, what.number);
  if (!holds_all(set, labels, what.limits))
    out.lacks = fit_memory(set, what.before, out.what, what.limits);
  out.shares = summaries(labels, out.what);
  return out;
}

placed_shares place(const ledger::manifest& set, const chunk_labels& labels,
                    const foreseen_repair& known, const place_shares& what) {
  placed_shares out;
  out.what = renumbered(known, what);
  out.shares = known.shares;
  if (!holds_all(set, labels, what.limits)) {
    out.lacks = fit_memory(set, what.before, out.what, what.limits);
    out.shares = summaries(labels, out.what);
  }
  return out;
}

} // namespace ballast::balance
