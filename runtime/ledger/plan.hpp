/// A plan assigns the data to workers: an owner for every interval of the
/// training set, and a batch weight for every worker. Ownership is the truth;
/// the place of the bytes is only a cache. A plan and the number of committed
/// steps together are the whole ledger (see ledger.hpp).
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/base/shared_list.hpp"
#include "runtime/ledger/kept_leaves.hpp"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace ballast::ledger {

struct manifest;

/// Rows [begin, end) of a chunk's row order *of the epoch* (a permutation keyed
/// by seed, epoch and chunk, see sequence.hpp): the unit of ownership.
struct interval {
  chunk_id chunk{};
  uint32_t begin = 0;
  uint32_t end = 0;
  // clang-tidy 14 mistakes the comparison's own 0 for a null pointer.
  friend auto operator<=>(const interval&,
                          const interval&) = default; // NOLINT
};

constexpr uint32_t rows(const interval& part) {
  return part.end - part.begin;
}

/// The same rows of the next chunk: lists of many intervals are mostly runs of
/// these, and are written as runs.
constexpr bool goes_on(const interval& before, const interval& after) {
  return value(after.chunk) == value(before.chunk) + 1 &&
         after.begin == before.begin && after.end == before.end;
}
/// Most intervals of a share that are read from a message or file: bounds what
/// a few bytes can make us allocate.
constexpr uint64_t intervals_read_max = uint64_t{1} << 24;

/// The part of one worker under a plan. Its index in `plan::shares` is its
/// rank.
struct share {
  worker_id worker{};
  /// The last plan that changed this worker's intervals. Draws are counted from
  /// 0 for each (share, epoch), so a plan that leaves the intervals alone
  /// leaves the sequence alone.
  plan_number since{};
  /// b_w: the worker's part of a global batch is proportional to it. Without
  /// measured speeds it is the number of rows owned.
  uint64_t batch_weight = 0;
  /// Sorted by (chunk, begin), none empty.
  shared_list<interval> intervals;
  /// The random stream of its draws: unique among shares with the same `since`
  /// (the rank under that plan). It is not the worker's id, which depends on
  /// the order of joining: equal jobs draw equally.
  uint32_t stream = 0;
  friend bool operator==(const share&, const share&) = default;
};

uint64_t rows(const share& part);
/// Into the order of `intervals`.
void sort_intervals(share& part);

/// Number, generation and shares in rank order. Takes effect at one (epoch,
/// step) and stays in force in later epochs. Order global: `kept` says who
/// computes which leaves of one step, in place of the batch weights.
struct plan {
  plan_number number{};
  ballast::generation generation{};
  std::vector<share> shares;
  kept_leaves kept = {};
  friend bool operator==(const plan&, const plan&) = default;
};

/// Why `p` is no partition of the chunks (rows of each chunk, by id), or
/// nothing. Checked wherever a plan is made, read or received.
std::optional<std::string>
partition_error(const plan& p, const std::vector<uint32_t>& chunk_rows);

/// Why `after` cannot follow `before`, or nothing: it is not newer, has an
/// older generation, is no partition, or a share's `since` is wrong (neither
/// `after.number` nor that of the same worker with the same intervals before).
/// ledger::switch_to checks the rules that depend on cursors (joined parts
/// within an epoch).
std::optional<std::string>
succession_error(const plan& before, const plan& after,
                 const std::vector<uint32_t>& chunk_rows);

/// The first plan of a run: the manifest's placement, one group for each
/// worker. `workers` in rank order; if their number differs from the
/// placement's, whole chunks are dealt so that the rows of workers differ
/// least.
plan first_plan(const manifest& set, const std::vector<worker_id>& workers,
                generation gen, plan_number number);

/// Intervals are [chunk, begin, end]; many in a row, of `count` chunks with the
/// same rows, are [first chunk, begin, end, count].
void to_json(nlohmann::json& out, const plan& in);
/// Throws nlohmann::json::exception if the text is not a plan. Does not check
/// that it is a partition.
void from_json(const nlohmann::json& in, plan& out);

} // namespace ballast::ledger
