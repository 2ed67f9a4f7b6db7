/// Assigns whole pieces to workers, so that their holdings come near a quota
/// for few bytes. Four steps: repeatedly the best piece per byte; then, between
/// two workers at a time, single pieces and swaps while they help; then a
/// second holder for classes with one; then parts of pieces if a size misses
/// its tolerance. Deterministic, and bounded in effort, not in time. Pure.
#pragma once

#include "runtime/balance/class_holders.hpp"
#include "runtime/balance/piece_lists.hpp"
#include "runtime/balance/quota_distance.hpp"
#include "runtime/balance/search_effort.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace ballast::balance {

/// The assignment of pieces, and the remaining distance.
class piece_search {
public:
  piece_search(std::vector<movable_piece> pieces, const label_counts& target,
               double size_tolerance, search_effort& effort);

  void run();
  /// Cuts chunks so that classes with one holder get another if the target has
  /// several. `room_bytes` by rank: free bytes; empty = no limit. True if lack
  /// of room kept a class from getting one.
  bool cover_by_cuts(const std::vector<uint64_t>& room_bytes);

  const std::vector<movable_piece>& pieces() const { return pieces_; }

private:
  struct choice {
    double gain = 0;
    size_t piece = 0;
    uint32_t to = 0;
    size_t back = 0; // a swap: this piece moves back
    bool swaps = false;
  };

  /// Bounds for the gain of a move between two workers, so that of a thousand
  /// workers only few pairs are examined closely.
  struct rank_bound {
    double error = 0;       // its part of the distance
    double least_price = 0; // of a piece that leaves it
    size_t labels = 0;      // entries of its pieces
    size_t pieces = 0;
    bool fresh = false;
  };
  const rank_bound& bound_of(uint32_t rank);
  bool may_gain(size_t piece) const;
  void empty_leavers();
  void take_the_best();
  void improve_pairs();
  bool improve_pair(uint32_t a, uint32_t b);
  void consider_swaps(const std::vector<choice>& there,
                      const std::vector<choice>& back, choice& best);
  std::vector<choice> best_singles(uint32_t from, uint32_t to) const;
  void spread_classes();
  void spread(uint32_t label, uint32_t from);
  std::optional<uint32_t>
  place_for_holder(uint32_t label, uint64_t bytes,
                   const std::vector<uint64_t>& room_bytes) const;
  void level_sizes();
  void cut_for_sizes();
  bool cut_for(uint32_t rank);
  void cut(size_t piece, uint32_t rows_away, uint32_t to);

  double value() const;
  double price(const movable_piece& piece, uint32_t to) const;
  choice best_place(size_t piece);
  /// Of all ranks at once: fast.
  uint64_t place_effort(const movable_piece& piece) const {
    return piece.labels.size() * workers() / 4;
  }
  void spend(uint64_t effort) {
    pairs_left_ -= std::min(pairs_left_, effort);
    effort_.spend(effort);
  }
  bool may_go_on() {
    return pairs_left_ > 0 && effort_.allows(kept_for_later_);
  }
  size_t workers() const { return at_.ranks(); }
  void assign(size_t piece, uint32_t to);
  void perform(const choice& c);
  bool may_move(const movable_piece& piece, uint32_t to) const {
    return !piece.locked && !holders_.loses(piece, piece.goes_to, to);
  }

  std::vector<movable_piece> pieces_;
  quota_distance distance_;
  class_holders holders_;
  piece_lists at_;                 // by rank: pieces that end there
  std::vector<double> gains_;      // scratch, by rank
  std::vector<rank_bound> bounds_; // by rank, computed on demand
  uint64_t pairs_left_;            // effort of this search, at most
  search_effort& effort_;          // of all searches together
  uint64_t kept_for_pairs_ = 0;    // effort that the first step leaves
  uint64_t kept_for_later_ = 0;    // ... that all steps leave
};

} // namespace ballast::balance
