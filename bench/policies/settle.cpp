#include "bench/policies/settle.hpp"

#include "bench/policies/entropy_rebalancer.hpp"
#include "bench/policies/hill_climbing.hpp"
#include "bench/policies/least_shard.hpp"
#include "bench/policies/region_score.hpp"
#include "bench/policies/threshold_mover.hpp"
#include "runtime/balance/shard_moves.hpp"
#include "runtime/placement/placement.hpp"

#include <algorithm>

namespace ballast::policies {
namespace {

/// Longer than any wait of a policy between two rounds.
constexpr uint64_t idle_ticks_max = 64;
/// A policy that moves everything this often never ends.
constexpr uint64_t rounds_max = 20;
constexpr double rounding = 1e-9;

std::vector<uint64_t> sizes_of(const balance::label_counts& held) {
  std::vector<uint64_t> out;
  for (size_t worker = 0; worker < held.workers; ++worker)
    out.push_back(held.of_worker(worker));
  return out;
}

settled state_of(const balance::label_counts& after,
                 const std::vector<double>& parts, const band& wanted) {
  band_tracker now(wanted, after, parts);
  settled out;
  out.balanced = now.balanced();
  out.skew = now.worst_skew();
  out.size_error = now.worst_size();
  out.after = after;
  return out;
}

} // namespace

settled settle(policy& who, const balance::label_counts& held,
               const std::vector<double>& parts, const band& wanted) {
  unit_places places(held);
  band_tracker now(wanted, held, parts);
  const std::vector<unit_move> none;
  uint64_t moved = 0;
  uint64_t tick = 0;
  uint64_t idle = 0;
  while (!now.balanced() && idle < idle_ticks_max &&
         moved < rounds_max * places.units()) {
    ++tick;
    ++idle;
    std::vector<unit_move> list =
        who.tick({places.counts(), parts, places, none, tick, tick});
    for (const unit_move& one : list) {
      places.move(one.unit, one.to);
      now.move(places.label(one.unit), one.from, one.to);
      ++moved;
      idle = 0;
      if (now.balanced())
        break;
    }
  }
  settled out = state_of(places.counts(), parts, wanted);
  out.moved = moved;
  out.ticks = tick;
  return out;
}

settled settle_by_quota(const balance::label_counts& held,
                        const std::vector<double>& parts, const band& wanted) {
  settled before = state_of(held, parts, wanted);
  if (before.balanced)
    return before;
  balance::quota found = balance::best_quota(
      {.held = held,
       .sizes = placement::split_by_shares(held.total(), parts),
       .skew_tv = wanted.skew_tv});
  settled out = state_of(found.target, parts, wanted);
  out.moved = found.moved;
  out.ticks = 1;
  return out;
}

double whole_row_skew(const balance::label_counts& held) {
  double out = 0;
  uint64_t total = held.total();
  for (size_t worker = 0; worker < held.workers; ++worker) {
    uint64_t size = held.of_worker(worker);
    uint64_t beyond = 0;
    for (size_t label = 0; label < held.classes; ++label) {
      uint64_t fair = held.of_class(label) * size / total;
      beyond += std::max(held.at(worker, label), fair) - fair;
    }
    if (size > 0)
      out = std::max(out, double(beyond) / double(size));
  }
  return out;
}

balance::quota quota_for_same_balance(const balance::label_counts& held,
                                      const balance::label_counts& reached) {
  return balance::best_quota({.held = held,
                              .sizes = sizes_of(reached),
                              .skew_tv = whole_row_skew(reached) + rounding,
                              .holders_min = 0});
}

settled settle_by_chunks(const instance& what, uint32_t chunk_rows,
                         const band& wanted) {
  ledger::manifest set;
  set.row.classes = uint32_t(what.held.classes);
  for (const std::vector<uint64_t>& list : what.rows) {
    set.placement.emplace_back();
    for (size_t i = 0; i < list.size(); i += chunk_rows) {
      ledger::chunk_info chunk;
      chunk.id = chunk_id(uint32_t(set.train.size()));
      chunk.rows = uint32_t(std::min<size_t>(chunk_rows, list.size() - i));
      chunk.bytes = chunk.rows;
      chunk.label_histogram.resize(what.held.classes);
      for (size_t k = i; k < i + chunk.rows; ++k)
        ++chunk.label_histogram[size_t(what.labels[list[k]])];
      set.train_rows += chunk.rows;
      set.placement.back().push_back(chunk.id);
      set.train.push_back(chunk);
    }
  }
  std::vector<worker_id> workers;
  for (uint32_t i = 0; i < what.rows.size(); ++i)
    workers.push_back(worker_id(i + 1));
  ledger::plan first = first_plan(set, workers, generation{1}, plan_number{1});
  settled before = state_of(what.held, what.parts, wanted);
  if (before.balanced)
    return before;
  std::vector<uint64_t> sizes =
      placement::split_by_shares(set.train_rows, what.parts);
  // Like the balancer's aim: every class ends a quarter of a chunk off its
  // quota.
  double off = double(what.held.classes) * chunk_rows / 4 /
               double(*std::min_element(sizes.begin(), sizes.end()));
  balance::quota target = balance::best_quota(
      {.held = what.held,
       .sizes = sizes,
       .skew_tv = std::max(0.2 * wanted.skew_tv, wanted.skew_tv - off)});
  balance::move_list list = balance::choose_moves({.set = &set,
                                                   .current = &first,
                                                   .target = target.target,
                                                   .locked = {},
                                                   .room_bytes = {}});
  settled out = state_of(list.after, what.parts, wanted);
  out.moved = list.rows;
  out.ticks = 1;
  return out;
}

std::vector<std::unique_ptr<policy>> all_policies(uint64_t seed) {
  std::vector<std::unique_ptr<policy>> out;
  out.push_back(std::make_unique<threshold_mover>(seed));
  out.push_back(std::make_unique<least_shard>(seed));
  out.push_back(std::make_unique<entropy_rebalancer>(seed));
  out.push_back(std::make_unique<region_score>(seed));
  out.push_back(std::make_unique<hill_climbing>(seed));
  return out;
}

} // namespace ballast::policies
