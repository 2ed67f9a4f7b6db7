/// From quotas of samples to pieces that really move: whole chunks first, the
/// most useful per byte first, so that a list that is cut off is still good
/// (move_prefix.hpp says where it may be); a chunk is cut only where a size
/// cannot be met otherwise. Pure.
///
/// Whole chunks round: where they are nearly pure, half the skew budget is a
/// good quota to ask for, and the rounding takes the other half. Sizes round,
/// too; rows above a small target weigh more than above a large one, because
/// that worker is the one the others would wait for. Where a plan is done in
/// several lists, keep its target for all of them: then they are hardly more
/// than the one list; a quota made anew for each costs some per cent.
///
/// Chunks of a set that says so (manifest::whole_chunks) are never cut.
///
/// A class that the quota gives to several workers is given to two at least,
/// where that takes no cut, or `cover` allows one. Who has size 0 keeps
/// nothing.
#pragma once

#include "runtime/balance/quota.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/ledger/plan.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace ballast {

/// An interval changes its owner. Its bytes are those of its whole chunk.
struct shard_move {
  interval what;
  uint32_t from = 0; // rank
  uint32_t to = 0;   // rank
  uint64_t bytes = 0;
  /// By how many rows it brings the holdings nearer to the quota.
  double gain_rows = 0;
  friend bool operator==(const shard_move&, const shard_move&) = default;
};

struct move_request {
  const manifest* set = nullptr;
  const plan* current = nullptr; // ranks of `target` are its ranks
  label_counts target;
  /// Chunks that must stay with an owner (a rank), such as those that it got a
  /// moment ago; null = none.
  std::function<bool(chunk_id, uint32_t)> locked;
  /// Chunks go in parts of at most so many rows, each to an owner of its own
  /// where that is better; 0 = as a whole where possible.
  uint32_t part_rows_max = 0;
  /// About so many bytes in this list; 0 = no limit. See cut_off.
  uint64_t bytes_max = 0;
  /// Bytes that fit in beside what each worker has, by rank; empty = no limit.
  /// Copies come before anything is let go, so a swap needs room, too; what
  /// does not fit is left out.
  std::vector<uint64_t> room_bytes;
  /// A list that is cut off leaves no worker with more skew than this, or than
  /// the most that there was (move_prefix.hpp); 1: it may end anywhere, and
  /// follows the target as far as pieces go.
  double skew_max = 1;
  /// A worker whose size is further from its target than this part of it, after
  /// all whole chunks, gets or gives a part of a chunk.
  double size_tolerance = 0.02;
  /// A class that would have one holder where the quota has several: the
  /// smallest part of a chunk with a row of it goes to another one.
  bool cover = false;
};

struct move_list {
  std::vector<shard_move> moves; // best first
  uint64_t rows = 0;
  uint64_t bytes = 0;
  label_counts after; // these, and those that come later
  /// Numbers of first moves after which it may end, ascending; also of `later`.
  std::vector<size_t> good_ends;
  std::vector<shard_move> later; // cut off, in order
  bool no_room = false;          // something was left out for lack of it
};

/// What a share holds of each class, in rows: parts of chunks count as their
/// share of the chunk's histogram, rounded so that the sums of a share are its
/// rows. Where the set has no classes: one class.
label_counts count_labels(const manifest& set, const plan& of);

move_list choose_moves(const move_request& what);

/// How many of the first moves have no more bytes together; 0 = no limit.
size_t fit_in_bytes(const std::vector<shard_move>& moves, uint64_t bytes_max);

/// Ends the list where it may end: after `fit` moves or sooner; else later.
/// Counts it again; `after` stays.
void cut_off(move_list& list, size_t fit);

/// `before` with these moves done, under a new number and of the same
/// generation. A share that they do not touch keeps `since`, `stream` and its
/// intervals; `batch_weights` by rank (empty = rows owned).
/// Pieces of one chunk that meet in one share stay apart: within an epoch
/// intervals are only cut.
plan moved_plan(const plan& before, const std::vector<shard_move>& moves,
                plan_number number, const std::vector<uint64_t>& batch_weights);

} // namespace ballast
