/// Turns quotas of samples into moves of pieces: whole chunks first, the most
/// gain per byte first, so that a list that is cut off is still good
/// (move_prefix.hpp finds where); a chunk is cut only if a size cannot be met
/// otherwise. Pure.
///
/// Whole chunks round: with nearly pure chunks, half the skew budget is a good
/// quota to ask for, and the rounding takes the other half. Sizes round, too;
/// rows above a small target weigh more than above a large one, because the
/// others would wait for that worker. A plan that is done in several lists
/// should keep its target for all of them: then they move hardly more than one
/// list would; a new quota for each list costs some per cent.
///
/// Chunks of a set with manifest::whole_chunks are never cut.
///
/// A class that the quota gives to several workers gets at least two holders,
/// if that needs no cut, or `cover` allows one. A worker of size 0 keeps
/// nothing.
#pragma once

#include "runtime/balance/chunk_labels.hpp"
#include "runtime/balance/quota.hpp"
#include "runtime/balance/search_effort.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/ledger/plan.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace ballast::balance {

/// Changes the owner of an interval. Its bytes are those of its whole chunk.
struct shard_move {
  ledger::interval what;
  uint32_t from = 0; // rank
  uint32_t to = 0;   // rank
  uint64_t bytes = 0;
  /// The decrease of the distance to the quota, in rows.
  double gain_rows = 0;
  friend bool operator==(const shard_move&, const shard_move&) = default;
};

struct move_request {
  const ledger::manifest* set = nullptr;
  const ledger::plan* current = nullptr; // ranks of `target` are its ranks
  label_counts target;
  /// Chunks that must stay with an owner (a rank), such as those that it
  /// received recently; null = none.
  std::function<bool(chunk_id, uint32_t)> locked;
  /// Chunks move in parts of at most this many rows, each to its own owner if
  /// that is better; 0 = as a whole if possible.
  uint32_t part_rows_max = 0;
  /// Approximate size of this list; 0 = no limit. See cut_off.
  uint64_t bytes_max = 0;
  /// Free bytes at each worker, by rank; empty = no limit. Copies come before
  /// anything is released, so a swap needs room, too; moves without room are
  /// left out.
  std::vector<uint64_t> room_bytes;
  /// A list that is cut off leaves no worker with more skew than this, or than
  /// the largest before (move_prefix.hpp); 1: it may end anywhere, and follows
  /// the target as far as pieces go.
  double skew_max = 1;
  /// A worker whose size misses its target by more than this fraction after all
  /// whole chunks gets or gives a part of a chunk.
  double size_tolerance = 0.02;
  /// If a class would have one holder although the quota has several, the
  /// smallest part of a chunk with one of its rows moves to another worker.
  bool cover = false;
  /// Of this set; null = read from the set.
  const chunk_labels* labels = nullptr;
  /// Shared by all searches for one answer; null = no limit.
  search_effort* effort = nullptr;
};

struct move_list {
  std::vector<shard_move> moves; // best first
  uint64_t rows = 0;
  uint64_t bytes = 0;
  label_counts after; // these, and those of `later`
  /// Numbers of first moves after which the list may end, ascending; `later`
  /// included.
  std::vector<size_t> good_ends;
  std::vector<shard_move> later; // cut off, in order
  bool no_room = false;          // something was left out for lack of memory
};

/// The rows of each class in a share. Parts of chunks count as their fraction
/// of the chunk's histogram, rounded so that the counts of a share sum to its
/// rows. Without classes: one class.
label_counts count_labels(const ledger::manifest& set, const ledger::plan& of);
label_counts count_labels(const chunk_labels& labels, const ledger::plan& of);

/// If the effort runs out, what was found so far; sizes are no worse than
/// before.
move_list choose_moves(const move_request& what);

/// How many of the first moves fit into these bytes; 0 = no limit.
size_t fit_in_bytes(const std::vector<shard_move>& moves, uint64_t bytes_max);

/// Ends the list at a permitted place: after `fit` moves or fewer, else later.
/// Recounts it; `after` stays.
void cut_off(move_list& list, size_t fit);

/// `before` with these moves applied, under a new number and of the same
/// generation. An untouched share keeps `since`, `stream` and its intervals;
/// `batch_weights` by rank (empty = rows owned). Pieces of one chunk that meet
/// in one share stay separate, because within an epoch intervals are only cut.
ledger::plan moved_plan(const ledger::plan& before,
                        const std::vector<shard_move>& moves,
                        plan_number number,
                        const std::vector<uint64_t>& batch_weights);

} // namespace ballast::balance
