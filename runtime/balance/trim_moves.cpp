#include "runtime/balance/trim_moves.hpp"

#include "runtime/balance/class_holders.hpp"
#include "runtime/balance/held_labels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <span>
#include <utility>

namespace ballast::balance {
namespace {

constexpr size_t trim_sweeps_max = 4;
/// Bound of the search, in changes that are tried.
constexpr uint64_t changes_max = 4'000'000;
constexpr size_t steps_max = 2; // of a change
/// A label of a piece that is tried, in label entries examined: it is looked up
/// in several tables.
constexpr uint64_t label_effort = 8;
/// A piece is cut only if this saves at least this fraction of all moved rows.
constexpr double cut_saves_min = 0.01;
constexpr double trim_rounding = 1e-9;

class trimmer {
public:
  trimmer(std::vector<movable_piece>& pieces, const label_counts& target,
          const trim_limits& limits, search_effort& effort)
      : pieces_(pieces), held_(target), holders_(target), effort_(effort),
        classes_(target.classes), from_(target.workers),
        ends_at_(target.workers) {
    for (const movable_piece& piece : pieces_) {
      held_.add(piece, piece.goes_to);
      holders_.add(piece, piece.goes_to);
    }
    for (uint32_t rank = 0; rank < held_.workers(); ++rank) {
      const double size = held_.size_of(rank);
      off_max_.push_back(std::max(limits.size_tolerance * size,
                                  std::abs(held_.rows_of(rank) - size)) +
                         trim_rounding);
      skew_max_.push_back(std::max(limits.skew_max, held_.skew_of(rank)) +
                          trim_rounding);
    }
  }

  void run() {
    for (size_t sweep = 0; sweep < trim_sweeps_max; ++sweep) {
      bool better = false;
      collect();
      for (size_t i : moved_)
        better |= change({{i, pieces_[i].owner}});
      collect();
      better |= take_back_pairs();
      if (!better || effort_.cut_short())
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

  bool is_size_allowed(uint32_t rank, double rows) const {
    const double size = held_.size_of(rank);
    return size == 0 ? rows == 0 : std::abs(rows - size) <= off_max_[rank];
  }

  bool allowed(uint32_t rank) const {
    return is_size_allowed(rank, held_.rows_of(rank)) &&
           (held_.size_of(rank) == 0 || held_.skew_of(rank) <= skew_max_[rank]);
  }

  void assign(size_t index, uint32_t to) {
    movable_piece& piece = pieces_[index];
    held_.remove(piece, piece.goes_to);
    holders_.remove(piece, piece.goes_to);
    piece.goes_to = to;
    held_.add(piece, to);
    holders_.add(piece, to);
  }

  /// False if these steps violate a limit for sure; cheap.
  bool may_be_allowed(std::span<const step> steps) {
    std::array<uint32_t, 2 * steps_max> ranks{};
    size_t count = 0;
    for (const step& one : steps)
      for (uint32_t rank : {pieces_[one.piece].goes_to, one.to})
        if (std::find(ranks.begin(), ranks.begin() + ptrdiff_t(count), rank) ==
            ranks.begin() + ptrdiff_t(count))
          ranks[count++] = rank;
    std::array<held_labels::change, 2 * steps_max> changes{};
    for (bool labels : {false, true})
      for (size_t i = 0; i < count; ++i) {
        size_t some = 0;
        double after = held_.rows_of(ranks[i]);
        for (const step& one : steps) {
          const movable_piece& piece = pieces_[one.piece];
          const double sign =
              double(one.to == ranks[i]) - double(piece.goes_to == ranks[i]);
          after += sign * double(rows(piece.what));
          if (sign != 0)
            changes[some++] = {&piece, sign};
        }
        if (!labels && !is_size_allowed(ranks[i], after))
          return false;
        if (labels && held_.size_of(ranks[i]) > 0 &&
            held_.least_skew_after(ranks[i], std::span(changes.data(), some)) >
                skew_max_[ranks[i]] + trim_rounding)
          return false;
      }
    return true;
  }

  /// Applies all of these steps, or none if they violate a limit.
  bool change(std::initializer_list<step> steps) {
    changes_left_ -= std::min<uint64_t>(changes_left_, 1);
    size_t labels = 1;
    for (const step& one : steps)
      labels += pieces_[one.piece].labels.size();
    effort_.spend(label_effort * labels);
    if (effort_.left() == 0 || !may_be_allowed({steps.begin(), steps.size()}))
      return false;
    // Of up to four workers, once to check and once to come back to it.
    effort_.spend(labels + 4 * classes_);
    std::array<step, steps_max> back;
    size_t done = 0;
    bool fine = true;
    for (const step& one : steps) {
      const movable_piece& piece = pieces_[one.piece];
      fine = !holders_.loses(piece, piece.goes_to, one.to);
      if (!fine)
        break;
      back[done++] = {one.piece, piece.goes_to};
      assign(one.piece, one.to);
    }
    for (size_t i = 0; i < done && fine; ++i)
      fine = allowed(back[i].to) && allowed(pieces_[back[i].piece].goes_to);
    while (done > 0 && !fine) {
      --done;
      assign(back[done].piece, back[done].to);
    }
    return fine;
  }

  /// Pairs that may be changed together share a worker: the second one starts
  /// where the first one ends, or ends where it starts. The larger first.
  bool take_back_pairs() {
    for (std::vector<size_t>& some : from_)
      some.clear();
    for (std::vector<size_t>& some : ends_at_)
      some.clear();
    for (size_t at = 0; at < moved_.size(); ++at) {
      from_[pieces_[moved_[at]].owner].push_back(at);
      ends_at_[pieces_[moved_[at]].goes_to].push_back(at);
    }
    bool better = false;
    for (size_t a = 0; a < moved_.size(); ++a)
      for (size_t b = next_partner(a, a); b < moved_.size();
           b = next_partner(a, b)) {
        if (changes_left_ == 0 || !effort_.allows(1))
          return better;
        if (!of_two(moved_[a], moved_[b]))
          continue;
        better = true;
        for (size_t at : {a, b})
          note_end(at);
      }
    return better;
  }

  /// The first one beyond `at`.
  size_t next_partner(size_t a, size_t at) const {
    const movable_piece& piece = pieces_[moved_[a]];
    size_t out = moved_.size();
    if (!piece.moves())
      return out;
    for (const std::vector<size_t>* some :
         {&from_[piece.goes_to], &ends_at_[piece.owner]}) {
      auto beyond = std::upper_bound(some->begin(), some->end(), at);
      if (beyond != some->end())
        out = std::min(out, *beyond);
    }
    return out;
  }

  void note_end(size_t at) {
    std::vector<size_t>& some = ends_at_[pieces_[moved_[at]].goes_to];
    auto place = std::lower_bound(some.begin(), some.end(), at);
    if (place == some.end() || *place != at)
      some.insert(place, at);
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
      // All but one row may stay.
      if (pieces_[i].whole || rows(pieces_[i].what) <= least)
        continue;
      if (!effort_.allows(label_effort * (2 * classes_ + 1)))
        return;
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
    effort_.spend(label_effort * pieces_[index].labels.size() + 2 * classes_);
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
  uint64_t changes_left_ = changes_max;
  search_effort& effort_;
  uint64_t classes_;
  // By rank: positions in moved_ of what starts there, and of what ends or
  // ended there; ascending.
  std::vector<std::vector<size_t>> from_;
  std::vector<std::vector<size_t>> ends_at_;
};

} // namespace

void trim_moves(std::vector<movable_piece>& pieces, const label_counts& target,
                const trim_limits& limits, search_effort& effort) {
  trimmer(pieces, target, limits, effort).run();
}

} // namespace ballast::balance
