/// The part of piece_search that cuts chunks, when whole pieces cannot meet a
/// size or give a class its second holder.
#include "runtime/balance/piece_search.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::balance {

void piece_search::cut(size_t index, uint32_t rows_away, uint32_t to) {
  const ledger::interval whole = pieces_[index].what;
  const uint32_t middle = whole.end - rows_away;
  movable_piece rest = part_of(pieces_[index], whole.begin, middle);
  movable_piece away = part_of(pieces_[index], middle, whole.end);
  uint32_t rank = rest.goes_to;
  bounds_[rank].fresh = false;
  distance_.remove(pieces_[index], rank);
  pieces_[index] = rest;
  distance_.add(rest, rank);
  distance_.add(away, rank);
  holders_.add(away, rank);
  pieces_.push_back(away);
  at_.append(rank, pieces_.size() - 1);
  assign(pieces_.size() - 1, to);
}

/// The worker to get the first rows of a class: one of the target's holders if
/// possible, else the one furthest below its size.
std::optional<uint32_t>
piece_search::place_for_holder(uint32_t label, uint64_t bytes,
                               const std::vector<uint64_t>& room_bytes) const {
  std::optional<uint32_t> best;
  auto better = [&](uint32_t a, uint32_t b) {
    bool wanted_a = holders_.may_hold(a, label);
    bool wanted_b = holders_.may_hold(b, label);
    return wanted_a != wanted_b
               ? wanted_a
               : distance_.size_excess(a) < distance_.size_excess(b);
  };
  for (uint32_t rank = 0; rank < workers(); ++rank)
    if (distance_.size_target(rank) > 0 && holders_.pieces(rank, label) == 0 &&
        (room_bytes.empty() || room_bytes.at(rank) >= bytes) &&
        (!best || better(rank, *best)))
      best = rank;
  return best;
}

bool piece_search::cover_by_cuts(const std::vector<uint64_t>& room_bytes) {
  bool no_room = false;
  for (uint32_t label : holders_.lacking()) {
    std::vector<uint32_t> still = holders_.lacking();
    if (!std::binary_search(still.begin(), still.end(), label))
      continue; // arrived together with another class
    // The fewest rows that contain one row of the class, on average over the
    // epochs; smaller parts if nothing else is available.
    struct part {
      bool poor = true;
      uint32_t rows = 0;
      size_t piece = 0;
    };
    std::optional<part> best;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const movable_piece& piece = pieces_[i];
      double of_label = 0;
      for (const label_rows& some : piece.labels)
        if (some.label == label)
          of_label = some.rows;
      uint32_t all = rows(piece.what);
      // A worker without another piece of the class keeps as much.
      uint32_t most =
          holders_.pieces(piece.goes_to, label) == 1 ? all / 2 : all;
      if (piece.locked || piece.whole || of_label <= 0 || most == 0)
        continue;
      double needed = std::ceil(double(all) / of_label);
      part now{needed > double(all), uint32_t(std::min(needed, double(most))),
               i};
      if (!best ||
          std::pair(now.poor, now.rows) < std::pair(best->poor, best->rows))
        best = now;
    }
    if (!best)
      continue;
    const movable_piece& from = pieces_[best->piece];
    auto to = place_for_holder(label, from.bytes, room_bytes);
    if (to && best->rows == rows(from.what))
      assign(best->piece, *to);
    else if (to)
      cut(best->piece, best->rows, *to);
    else
      no_room = no_room || place_for_holder(label, 0, {});
  }
  return no_room;
}

/// Brings the size of `rank`, or of the worker furthest off on the other side,
/// to its target by moving a part of a piece. Takes the end of the piece: those
/// rows are consumed last, so they are work for the receiver.
bool piece_search::cut_for(uint32_t rank) {
  bool gives = distance_.size_excess(rank) > 0;
  uint32_t other = rank;
  for (uint32_t w = 0; w < workers(); ++w) {
    if (distance_.size_target(w) == 0)
      continue;
    int64_t now = distance_.size_excess(w),
            so_far = distance_.size_excess(other);
    if (gives ? now < so_far : now > so_far)
      other = w;
  }
  uint32_t from = gives ? rank : other;
  uint32_t to = gives ? other : rank;
  int64_t wanted =
      std::min(distance_.size_excess(from), -distance_.size_excess(to));
  if (wanted <= 0)
    return false;
  choice best{-1e300};
  bool found = false;
  for (size_t i : at_.of(from)) {
    const movable_piece& piece = pieces_[i];
    const auto all = int64_t(rows(piece.what));
    if (piece.locked || all < wanted || (piece.whole && all > wanted) ||
        (all == wanted && !may_move(piece, to)))
      continue;
    // Labels count by the part; bytes by the whole chunk, unless the receiver
    // has it.
    double gain = distance_.label_gain(piece, from, to) * double(wanted) /
                      double(rows(piece.what)) -
                  (to == piece.owner ? 0 : piece.price);
    if (!found || gain > best.gain) {
      best = {gain, i, to};
      found = true;
    }
  }
  if (!found)
    return false;
  if (int64_t(rows(pieces_[best.piece].what)) == wanted)
    assign(best.piece, to);
  else
    cut(best.piece, uint32_t(wanted), to);
  return true;
}

/// One pass instead of pairs, if these were cut short: pieces go from workers
/// with too many rows to those with too few, the best for the labels first. The
/// first step ignored sizes, and such a plan would be of no use.
void piece_search::level_sizes() {
  for (uint32_t from = 0; from < workers(); ++from) {
    if (distance_.size_excess(from) <= 0)
      continue;
    std::vector<choice> leave;
    for (size_t i : at_.of(from)) {
      if (pieces_[i].locked)
        continue;
      distance_.gains_of_coming(pieces_[i], gains_);
      choice best{-1e300, i, from};
      for (uint32_t to = 0; to < workers(); ++to)
        if (to != from && distance_.size_excess(to) < 0 &&
            gains_[to] > best.gain)
          best = {gains_[to], i, to};
      if (best.to == from)
        return; // all sizes are met
      best.gain += distance_.label_gain(pieces_[i], from, best.to);
      leave.push_back(best);
    }
    std::stable_sort(
        leave.begin(), leave.end(),
        [](const choice& a, const choice& b) { return a.gain > b.gain; });
    for (const choice& one : leave) {
      const auto some = int64_t(rows(pieces_[one.piece].what));
      if (distance_.size_excess(from) >= some &&
          -distance_.size_excess(one.to) >= some &&
          may_move(pieces_[one.piece], one.to))
        assign(one.piece, one.to);
    }
  }
}

void piece_search::cut_for_sizes() {
  // Every cut meets one of two sizes, so there are fewer cuts than workers.
  for (size_t cuts = 0; cuts < workers(); ++cuts) {
    uint32_t worst = 0;
    double worst_error = 0;
    for (uint32_t w = 0; w < workers(); ++w) {
      if (distance_.size_in_tolerance(w) || distance_.size_target(w) == 0)
        continue;
      double error = std::abs(double(distance_.size_excess(w))) /
                     double(distance_.size_target(w));
      if (error > worst_error) {
        worst = w;
        worst_error = error;
      }
    }
    if (worst_error == 0 || !cut_for(worst))
      return;
  }
}

} // namespace ballast::balance
