#include "runtime/balance/trim_moves.hpp"

#include "runtime/balance/class_holders.hpp"
#include "runtime/balance/held_labels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace ballast {
namespace {

constexpr size_t sweeps_max = 4;
/// Bound of the search, in moves of pieces tried and reverted.
constexpr uint64_t effort_max = 4'000'000;
/// A piece is cut only if this saves at least this fraction of all moved rows.
constexpr double cut_saves_min = 0.01;
constexpr double rounding = 1e-9;

class trimmer {
public:
  trimmer(std::vector<movable_piece>& pieces, const label_counts& target,
          const trim_limits& limits)
      : pieces_(pieces), held_(target), holders_(target) {
    for (const movable_piece& piece : pieces_) {
      held_.add(piece, piece.goes_to);
      holders_.add(piece, piece.goes_to);
    }
    for (uint32_t rank = 0; rank < held_.workers(); ++rank) {
      const double size = held_.size_of(rank);
      off_max_.push_back(std::max(limits.size_tolerance * size,
                                  std::abs(held_.rows_of(rank) - size)) +
                         rounding);
      skew_max_.push_back(std::max(limits.skew_max, held_.skew_of(rank)) +
                          rounding);
    }
  }

  void run() {
    for (size_t sweep = 0; sweep < sweeps_max; ++sweep) {
      bool better = false;
      collect();
      for (size_t i : moved_)
        better |= change({{i, pieces_[i].owner}});
      collect();
      for (size_t a = 0; a < moved_.size(); ++a)
        for (size_t b = a + 1; b < moved_.size() && effort_left_ > 0; ++b)
          better |= of_two(moved_[a], moved_[b]);
      if (!better)
        break;
    }
    cut_back();
  }

private:
  struct step {
    size_t piece = 0;
    uint32_t to = 0;
  };

  /// Collects the moved pieces, the largest first.
  void collect() {
    moved_.clear();
    for (size_t i = 0; i < pieces_.size(); ++i)
      if (pieces_[i].moves() && !pieces_[i].locked)
        moved_.push_back(i);
    std::stable_sort(moved_.begin(), moved_.end(), [this](size_t a, size_t b) {
      return rows(pieces_[a].what) > rows(pieces_[b].what);
    });
  }

  bool allowed(uint32_t rank) const {
    if (held_.size_of(rank) == 0)
      return held_.rows_of(rank) == 0;
    return std::abs(held_.rows_of(rank) - held_.size_of(rank)) <=
               off_max_[rank] &&
           held_.skew_of(rank) <= skew_max_[rank];
  }

  void assign(size_t index, uint32_t to) {
    movable_piece& piece = pieces_[index];
    held_.remove(piece, piece.goes_to);
    holders_.remove(piece, piece.goes_to);
    piece.goes_to = to;
    held_.add(piece, to);
    holders_.add(piece, to);
  }

  /// Applies all of these steps, or none if they violate a limit.
  bool change(const std::vector<step>& steps) {
    effort_left_ -= std::min<uint64_t>(effort_left_, 1);
    std::vector<step> back;
    std::vector<uint32_t> ranks;
    bool fine = true;
    for (const step& one : steps) {
      const movable_piece& piece = pieces_[one.piece];
      fine = fine && !holders_.loses(piece, piece.goes_to, one.to);
      back.push_back({one.piece, piece.goes_to});
      ranks.insert(ranks.end(), {piece.goes_to, one.to});
      assign(one.piece, one.to);
    }
    for (uint32_t rank : ranks)
      fine = fine && allowed(rank);
    for (size_t i = back.size(); i-- > 0 && !fine;)
      assign(back[i].piece, back[i].to);
    return fine;
  }

  bool of_two(size_t a, size_t b) {
    const movable_piece& p = pieces_[a];
    const movable_piece& q = pieces_[b];
    if (!p.moves() || !q.moves())
      return false;
    if (p.owner == q.goes_to && q.owner == p.goes_to)
      return change({{a, p.owner}, {b, q.owner}});
    if (p.goes_to == q.owner)
      return change({{b, q.owner}, {a, q.goes_to}});
    if (q.goes_to == p.owner)
      return change({{a, p.owner}, {b, p.goes_to}});
    return false;
  }

  /// Moves back parts of pieces that cannot return as a whole: the largest
  /// saving first.
  void cut_back() {
    uint64_t all = 0;
    for (const movable_piece& piece : pieces_)
      if (piece.moves())
        all += rows(piece.what);
    const auto least =
        uint32_t(std::max(1.0, std::ceil(cut_saves_min * double(all))));
    collect();
    for (size_t i : std::vector<size_t>(moved_)) {
      if (pieces_[i].whole)
        continue;
      // The largest part that may stay without violating a limit, by bisection.
      uint32_t fine = 0;
      uint32_t broken = rows(pieces_[i].what);
      while (broken - fine > 1) {
        const uint32_t middle = fine + (broken - fine) / 2;
        (may_stay(i, middle) ? fine : broken) = middle;
      }
      if (fine >= least)
        cut(i, fine);
    }
  }

  bool may_stay(size_t index, uint32_t some) {
    const movable_piece piece = pieces_[index];
    const movable_piece stays =
        part_of(piece, piece.what.begin, piece.what.begin + some);
    held_.remove(stays, piece.goes_to);
    held_.add(stays, piece.owner);
    const bool fine = allowed(piece.goes_to) && allowed(piece.owner);
    held_.remove(stays, piece.owner);
    held_.add(stays, piece.goes_to);
    return fine;
  }

  /// Cuts the end of a piece: those rows are consumed last, so they are work
  /// for the receiver.
  void cut(size_t index, uint32_t some) {
    const movable_piece whole = pieces_[index];
    const uint32_t middle = whole.what.begin + some;
    movable_piece stays = part_of(whole, whole.what.begin, middle);
    stays.goes_to = stays.owner;
    held_.remove(whole, whole.goes_to);
    holders_.remove(whole, whole.goes_to);
    pieces_[index] = part_of(whole, middle, whole.what.end);
    pieces_.push_back(stays);
    for (const movable_piece* one : {&pieces_[index], &pieces_.back()}) {
      held_.add(*one, one->goes_to);
      holders_.add(*one, one->goes_to);
    }
  }

  std::vector<movable_piece>& pieces_;
  held_labels held_;
  class_holders holders_;
  std::vector<double> off_max_;  // by rank: distance from its size
  std::vector<double> skew_max_; // by rank
  std::vector<size_t> moved_;
  uint64_t effort_left_ = effort_max;
};

} // namespace

void trim_moves(std::vector<movable_piece>& pieces, const label_counts& target,
                const trim_limits& limits) {
  trimmer(pieces, target, limits).run();
}

} // namespace ballast
