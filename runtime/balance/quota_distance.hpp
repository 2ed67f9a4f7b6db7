/// How far what the workers hold is from a quota, and by how much a piece
/// that comes or goes changes it. The measure of the search in
/// piece_search.hpp.
///
/// In rows: half the sum over workers and classes of |held - target|, so a
/// piece of which every row is too many here and missing there brings it down
/// by its rows. To that the error of each worker's size is added, a little
/// within the tolerance and much beyond it; rows above the target count more
/// the smaller the target is, because there they make everybody wait. Pure.
#pragma once

#include "runtime/balance/quota.hpp"
#include "runtime/ledger/plan.hpp"

#include <cstdint>
#include <vector>

namespace ballast {

/// Rows of one class; a fraction where the piece is a part of a chunk.
struct label_rows {
  uint32_t label = 0;
  double rows = 0;
};

/// An interval that can go to another worker as a whole.
struct movable_piece {
  interval what;
  uint32_t part_of = 0; // number of the interval of the plan that it lies in
  uint32_t owner = 0;   // rank
  uint32_t goes_to = 0; // rank; = owner if it stays
  uint64_t bytes = 0;   // of its chunk
  double price = 0;     // of these bytes: so many rows have them on average
  bool locked = false;
  bool whole = false;             // is not cut
  std::vector<label_rows> labels; // none of 0 rows
  bool moves() const { return goes_to != owner; }
  bool has(uint32_t label) const;
};

/// These rows of it alone, with as much of every label. What it costs to copy
/// stays: that of its chunk.
movable_piece part_of(const movable_piece& piece, uint32_t begin, uint32_t end);

class quota_distance {
public:
  /// Nobody holds anything yet. Sizes count.
  quota_distance(const label_counts& target, double size_tolerance);

  /// Whether the error of sizes counts, or labels alone.
  void count_sizes(bool yes) { sizes_count_ = yes; }

  void add(const movable_piece& piece, uint32_t rank);
  void remove(const movable_piece& piece, uint32_t rank);

  double total() const;
  /// The part of the total that is this worker's; no move makes it negative.
  double error(uint32_t rank) const;
  /// By how much the distance shrinks if the piece leaves, or comes to, this
  /// worker.
  double gain_of_leaving(const movable_piece& piece, uint32_t rank) const;
  double gain_of_coming(const movable_piece& piece, uint32_t rank) const;
  /// gain_of_coming for all ranks at once. `out` has one entry a rank.
  void gains_of_coming(const movable_piece& piece,
                       std::vector<double>& out) const;
  /// Of both ends together; the second one without sizes, whatever counts.
  double gain(const movable_piece& piece, uint32_t from, uint32_t to) const;
  double label_gain(const movable_piece& piece, uint32_t from,
                    uint32_t to) const;

  size_t workers() const { return sizes_.size(); }
  /// Rows beyond the target size.
  int64_t size_excess(uint32_t rank) const { return excess_[rank]; }
  int64_t size_target(uint32_t rank) const { return sizes_[rank]; }
  bool size_in_tolerance(uint32_t rank) const;

private:
  double size_error(uint32_t rank, int64_t excess) const;
  double label_change(const movable_piece& piece, uint32_t rank,
                      double sign) const;

  double size_tolerance_;
  bool sizes_count_ = true;
  std::vector<int64_t> sizes_;
  std::vector<int64_t> excess_;
  std::vector<double> weight_of_more_; // by rank
  /// Held beyond target, [class * workers + rank]: all workers of one class
  /// side by side, because a piece is offered to all of them.
  std::vector<double> surplus_;
};

} // namespace ballast
