/// The distance of the workers' holdings from a quota, and its change when a
/// piece moves: the objective of the search in piece_search.hpp.
///
/// In rows: half the sum over workers and classes of |held - target|, so that a
/// piece of which every row is surplus at its owner and missing at the receiver
/// reduces it by its rows. The error of each worker's size is added, with a
/// small weight within the tolerance and a large one beyond it; rows above the
/// target weigh more the smaller the target is, because there they make all
/// workers wait. Pure.
#pragma once

#include "runtime/balance/quota.hpp"
#include "runtime/ledger/plan.hpp"

#include <cstdint>
#include <vector>

namespace ballast::balance {

/// Rows of one class; a fraction if the piece is a part of a chunk.
struct label_rows {
  uint32_t label = 0;
  double rows = 0;
};

/// An interval that can move to another worker as a whole.
struct movable_piece {
  ledger::interval what;
  uint32_t part_of = 0; // number of the interval of the plan that contains it
  uint32_t owner = 0;   // rank
  uint32_t goes_to = 0; // rank; = owner if it stays
  uint64_t bytes = 0;   // of its chunk
  double price = 0;     // of these bytes, in rows: bytes over the mean row size
  bool locked = false;
  bool whole = false;             // must not be cut
  std::vector<label_rows> labels; // none of 0 rows
  bool moves() const { return goes_to != owner; }
  bool has(uint32_t label) const;
};

/// A part of a piece, with the same proportions of labels. Its copying cost
/// stays that of the whole chunk.
movable_piece part_of(const movable_piece& piece, uint32_t begin, uint32_t end);

class quota_distance {
public:
  /// Initially no worker holds anything. Sizes count.
  quota_distance(const label_counts& target, double size_tolerance);

  /// Whether the error of sizes counts, or labels alone.
  void count_sizes(bool yes) { sizes_count_ = yes; }

  void add(const movable_piece& piece, uint32_t rank);
  void remove(const movable_piece& piece, uint32_t rank);

  double total() const;
  /// This worker's part of the total, which no move can make negative.
  double error(uint32_t rank) const;
  /// The decrease of the distance if the piece leaves this worker, or arrives
  /// at it.
  double gain_of_leaving(const movable_piece& piece, uint32_t rank) const;
  double gain_of_coming(const movable_piece& piece, uint32_t rank) const;
  /// gain_of_coming for all ranks at once. `out` has one entry for each rank.
  void gains_of_coming(const movable_piece& piece,
                       std::vector<double>& out) const;
  /// Of both ends together; the second function ignores sizes.
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
  /// Held beyond target, [class * workers + rank]: all workers of a class are
  /// contiguous, because a piece is offered to all of them.
  std::vector<double> surplus_;
};

} // namespace ballast::balance
