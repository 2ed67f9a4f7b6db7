/// Data sets, plans and rounds of moves for the tests of the planner.
#pragma once

#include "runtime/balance/chunk_layout.hpp"
#include "runtime/balance/shard_moves.hpp"
#include "tests/runtime/balance/quota_fixture.hpp"

#include <optional>
#include <set>

namespace ballast::testing {

constexpr uint64_t row_bytes = 788;

/// A set whose chunks hold these rows per class, placed by rank.
struct set_builder {
  ledger::manifest set;
  explicit set_builder(uint32_t classes) { set.row.classes = classes; }
  void add(size_t rank, const std::vector<uint64_t>& histogram) {
    ledger::chunk_info chunk;
    chunk.id = chunk_id(uint32_t(set.train.size()));
    chunk.label_histogram = histogram;
    chunk.rows = uint32_t(
        std::accumulate(histogram.begin(), histogram.end(), uint64_t{0}));
    chunk.bytes = chunk.rows * row_bytes;
    set.train_rows += chunk.rows;
    if (set.placement.size() <= rank)
      set.placement.resize(rank + 1);
    set.placement[rank].push_back(chunk.id);
    set.train.push_back(chunk);
  }
};

/// Each worker's rows in these chunks.
inline ledger::manifest chunked(const std::vector<balance::chunk_layout>& lists,
                                const std::vector<int32_t>& labels,
                                uint32_t classes) {
  set_builder out(classes);
  out.set.placement.resize(lists.size());
  size_t next = 0;
  const std::vector<std::span<const uint64_t>> chunks = chunks_of(lists);
  for (size_t rank = 0; rank < lists.size(); ++rank)
    for (size_t i = 0; i < lists[rank].chunk_rows.size(); ++i) {
      std::vector<uint64_t> histogram(classes);
      for (uint64_t row : chunks[next++])
        ++histogram[size_t(labels[row])];
      out.add(rank, histogram);
    }
  return out.set;
}

/// In the order of the lists: what the planner makes of any chunks.
inline ledger::manifest chunked(const std::vector<std::vector<uint64_t>>& lists,
                                const std::vector<int32_t>& labels,
                                uint32_t classes, uint32_t chunk_rows) {
  std::vector<balance::chunk_layout> out;
  for (const std::vector<uint64_t>& list : lists)
    out.push_back(balance::cut_in_order(list, chunk_rows));
  return chunked(out, labels, classes);
}

/// 60,000 rows of ten equal classes, as Fashion-MNIST has them.
inline ledger::manifest fashion(const std::string& kind, double alpha,
                                uint32_t workers, uint64_t seed = 7) {
  std::vector<int32_t> labels;
  for (int32_t label = 0; label < 10; ++label)
    labels.insert(labels.end(), 6000, label);
  placement_spec spec;
  spec.kind = parse_word<placement_kind>(kind).value();
  spec.alpha = alpha;
  return chunked(
      placement::place_rows(spec, {labels.size(), labels, 10}, workers, seed),
      labels, 10, 256);
}

inline ledger::plan placed(const ledger::manifest& set) {
  return first_plan(set, workers_named(set.placement.size()), generation{1},
                    plan_number{1});
}

inline std::vector<uint32_t> chunk_rows(const ledger::manifest& set) {
  std::vector<uint32_t> out;
  for (const ledger::chunk_info& chunk : set.train)
    out.push_back(chunk.rows);
  return out;
}

inline double max_of(const std::vector<double>& numbers) {
  return numbers.empty() ? 0
                         : *std::max_element(numbers.begin(), numbers.end());
}

/// Quota and moves for one state of one set.
struct planner {
  const ledger::manifest& set;
  std::vector<double> speeds; // by rank
  double skew_tv = 0.025;
  uint64_t bytes_max = 0;
  double size_tolerance = 0.02;
  std::set<chunk_id> locked = {};
  std::optional<balance::label_counts> kept_target = {};

  balance::quota wanted(const ledger::plan& now) const {
    balance::quota_request what;
    what.held = balance::count_labels(set, now);
    what.sizes = placement::split_by_shares(what.held.total(), speeds);
    what.skew_tv = skew_tv;
    return best_quota(what);
  }

  balance::move_list moves(const ledger::plan& now) const {
    return moves(now, kept_target ? *kept_target : wanted(now).target);
  }
  balance::move_list moves(const ledger::plan& now,
                           const balance::label_counts& target) const {
    balance::move_request what;
    what.set = &set;
    what.current = &now;
    what.target = target;
    what.bytes_max = bytes_max;
    what.size_tolerance = size_tolerance;
    what.locked = [this](chunk_id chunk, uint32_t) {
      return locked.contains(chunk);
    };
    return choose_moves(what);
  }
};

inline ledger::plan after(const ledger::plan& before,
                          const balance::move_list& list) {
  return moved_plan(before, list.moves, next(before.number), {});
}

} // namespace ballast::testing
