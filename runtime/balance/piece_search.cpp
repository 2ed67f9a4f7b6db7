#include "runtime/balance/piece_search.hpp"

#include <algorithm>
#include <cmath>
#include <queue>

namespace ballast {
namespace {

/// A row of bytes has to bring so much of a row: below that a piece moves for
/// next to nothing.
constexpr double rows_gained_per_row_min = 0.1;
/// Best pieces of each direction that are tried as swaps.
constexpr size_t swap_candidates = 4;
constexpr size_t sweeps_max = 4;
constexpr size_t rounds_max = 4;
constexpr uint64_t effort_max = 100'000'000;
constexpr double smallest_gain = 1e-6;

} // namespace

piece_search::piece_search(std::vector<movable_piece> pieces,
                           const label_counts& target, double size_tolerance)
    : pieces_(std::move(pieces)), distance_(target, size_tolerance),
      holders_(target), at_(target.workers), gains_(target.workers),
      effort_left_(effort_max) {
  for (size_t i = 0; i < pieces_.size(); ++i) {
    distance_.add(pieces_[i], pieces_[i].goes_to);
    holders_.add(pieces_[i], pieces_[i].goes_to);
    at_[pieces_[i].goes_to].push_back(i);
  }
}

void piece_search::run() {
  empty_leavers();
  // The first of the two steps does not look at sizes, so it may lead astray
  // where there is little to do, or out of where the second one is stuck.
  for (size_t round = 0; round < rounds_max && effort_left_ > 0; ++round) {
    std::vector<uint32_t> before;
    for (const movable_piece& piece : pieces_)
      before.push_back(piece.goes_to);
    double worth = value();
    take_the_best();
    improve_pairs();
    if (value() > worth + smallest_gain)
      continue;
    for (size_t i = 0; i < before.size(); ++i)
      if (pieces_[i].goes_to != before[i])
        assign(i, before[i]);
    break;
  }
  spread_classes();
  cut_for_sizes();
}

/// The larger the better: near the quota, and few bytes.
double piece_search::value() const {
  double out = -distance_.total();
  for (const movable_piece& piece : pieces_)
    if (piece.moves())
      out += price(piece, piece.owner);
  return out;
}

/// What it costs to have the piece end at `to` rather than where it is.
double piece_search::price(const movable_piece& piece, uint32_t to) const {
  return piece.price * rows_gained_per_row_min *
         (double(to != piece.owner) - double(piece.moves()));
}

void piece_search::assign(size_t index, uint32_t to) {
  movable_piece& piece = pieces_[index];
  std::vector<size_t>& old = at_[piece.goes_to];
  old.erase(std::find(old.begin(), old.end(), index));
  distance_.remove(piece, piece.goes_to);
  holders_.remove(piece, piece.goes_to);
  piece.goes_to = to;
  distance_.add(piece, to);
  holders_.add(piece, to);
  at_[to].push_back(index);
}

void piece_search::perform(const choice& c) {
  uint32_t from = pieces_[c.piece].goes_to;
  assign(c.piece, c.to);
  if (c.swaps)
    assign(c.back, from);
}

/// The best other worker for the piece, workers of size 0 excluded.
piece_search::choice piece_search::best_place(size_t index) {
  const movable_piece& piece = pieces_[index];
  spend(piece.labels.size() * at_.size() / 4); // all ranks at once are quick
  distance_.gains_of_coming(piece, gains_);
  choice best{-1e300, index, piece.goes_to};
  for (uint32_t to = 0; to < gains_.size(); ++to) {
    if (to == piece.goes_to || distance_.size_target(to) == 0)
      continue;
    double gain = gains_[to] - price(piece, to);
    if (gain > best.gain)
      best = {gain, index, to};
  }
  best.gain += distance_.gain_of_leaving(piece, piece.goes_to);
  return best;
}

/// Who leaves keeps nothing, whatever that does to the labels of others.
void piece_search::empty_leavers() {
  std::vector<size_t> leaving;
  for (size_t i = 0; i < pieces_.size(); ++i)
    if (distance_.size_target(pieces_[i].goes_to) == 0 && !pieces_[i].locked)
      leaving.push_back(i);
  std::stable_sort(leaving.begin(), leaving.end(), [&](size_t a, size_t b) {
    return rows(pieces_[a].what) > rows(pieces_[b].what);
  });
  for (size_t i : leaving)
    if (choice best = best_place(i); best.to != pieces_[i].goes_to)
      assign(i, best.to);
}

/// Gains mostly shrink as others move, so what was best a moment ago is looked
/// at again only when it comes to the top.
void piece_search::take_the_best() {
  distance_.count_sizes(false);
  auto per_byte = [&](const choice& c) {
    return c.gain / pieces_[c.piece].price;
  };
  auto worse = [&](const choice& a, const choice& b) {
    double gain_a = per_byte(a), gain_b = per_byte(b);
    return gain_a != gain_b ? gain_a < gain_b : a.piece > b.piece;
  };
  for (size_t sweep = 0; sweep < sweeps_max; ++sweep) {
    std::priority_queue<choice, std::vector<choice>, decltype(worse)> queue(
        worse);
    for (size_t i = 0; i < pieces_.size(); ++i)
      if (!pieces_[i].locked)
        if (choice best = best_place(i); best.gain > smallest_gain)
          queue.push(best);
    auto still_first = [&](const choice& c) {
      return c.gain > smallest_gain &&
             (queue.empty() || !worse(c, queue.top()));
    };
    bool moved = false;
    while (!queue.empty()) {
      choice top = queue.top();
      queue.pop();
      const movable_piece& piece = pieces_[top.piece];
      choice now = top;
      now.gain =
          distance_.gain(piece, piece.goes_to, top.to) - price(piece, top.to);
      if (!still_first(now))
        now = best_place(top.piece);
      if (still_first(now)) {
        if (may_move(piece, now.to)) {
          assign(now.piece, now.to);
          moved = true;
        }
      } else if (now.gain > smallest_gain) {
        queue.push(now);
      }
    }
    if (!moved)
      break;
  }
  distance_.count_sizes(true);
}

void piece_search::improve_pairs() {
  for (size_t sweep = 0; sweep < sweeps_max; ++sweep) {
    bool better = false;
    for (uint32_t a = 0; a < at_.size(); ++a)
      for (uint32_t b = a + 1; b < at_.size(); ++b)
        while (effort_left_ > 0 && improve_pair(a, b))
          better = true;
    if (!better)
      break;
  }
}

/// The best pieces of `from` to go to `to`, best first.
std::vector<piece_search::choice>
piece_search::best_singles(uint32_t from, uint32_t to) const {
  std::vector<choice> out;
  if (distance_.size_target(to) == 0)
    return out;
  for (size_t i : at_[from])
    if (may_move(pieces_[i], to))
      out.push_back(
          {distance_.gain(pieces_[i], from, to) - price(pieces_[i], to), i,
           to});
  auto better = [](const choice& a, const choice& b) {
    return a.gain != b.gain ? a.gain > b.gain : a.piece < b.piece;
  };
  size_t kept = std::min(swap_candidates, out.size());
  std::partial_sort(out.begin(), out.begin() + ptrdiff_t(kept), out.end(),
                    better);
  out.resize(kept);
  return out;
}

void piece_search::consider_swaps(const std::vector<choice>& there,
                                  const std::vector<choice>& back,
                                  choice& best) {
  for (const choice& go : there) {
    movable_piece& piece = pieces_[go.piece];
    uint32_t from = piece.goes_to;
    distance_.remove(piece, from);
    distance_.add(piece, go.to);
    for (const choice& come : back) {
      const movable_piece& other = pieces_[come.piece];
      double gain =
          go.gain + distance_.gain(other, go.to, from) - price(other, from);
      if (gain > best.gain)
        best = {gain, go.piece, go.to, come.piece, true};
    }
    distance_.remove(piece, go.to);
    distance_.add(piece, from);
  }
}

bool piece_search::improve_pair(uint32_t a, uint32_t b) {
  uint64_t effort = 1;
  for (uint32_t rank : {a, b})
    for (size_t i : at_[rank])
      effort += pieces_[i].labels.size() * 2;
  spend(effort);
  std::vector<choice> there = best_singles(a, b);
  std::vector<choice> back = best_singles(b, a);
  choice best{smallest_gain};
  bool found = false;
  for (const std::vector<choice>* singles : {&there, &back})
    if (!singles->empty() && singles->front().gain > best.gain) {
      best = singles->front();
      found = true;
    }
  consider_swaps(there, back, best);
  if (!found && !best.swaps)
    return false;
  perform(best);
  return true;
}

// -- holders ------------------------------------------------------------------

void piece_search::spread_classes() {
  for (uint32_t label : holders_.lacking())
    for (uint32_t from = 0; from < at_.size(); ++from)
      if (holders_.pieces(from, label) > 1)
        spread(label, from);
}

/// The least harmful of several pieces with the class goes where the quota has
/// some of it, if need be in exchange for another one.
void piece_search::spread(uint32_t label, uint32_t from) {
  choice best{-1e300};
  bool found = false;
  for (size_t i : at_[from]) {
    const movable_piece& piece = pieces_[i];
    if (piece.locked || !piece.has(label))
      continue;
    distance_.gains_of_coming(piece, gains_);
    double gain_here = distance_.gain_of_leaving(piece, from);
    for (uint32_t to = 0; to < at_.size(); ++to) {
      double gain = gain_here + gains_[to] - price(piece, to);
      if (to == from || !holders_.may_hold(to, label) ||
          (found && gain <= best.gain) || !may_move(piece, to))
        continue;
      best = {gain, i, to};
      found = true;
    }
  }
  if (!found)
    return;
  consider_swaps({best}, best_singles(best.to, from), best);
  // A second holder is worth some harm to the shares, not any.
  if (best.gain < -double(rows(pieces_[best.piece].what)) / 2)
    return;
  perform(best);
}

// -- cuts ---------------------------------------------------------------------

void piece_search::cut(size_t index, uint32_t rows_away, uint32_t to) {
  movable_piece rest = pieces_[index];
  movable_piece away = rest;
  double part = double(rows_away) / double(rows(rest.what));
  rest.what.end -= rows_away;
  away.what.begin = rest.what.end;
  for (size_t i = 0; i < rest.labels.size(); ++i) {
    away.labels[i].rows *= part;
    rest.labels[i].rows -= away.labels[i].rows;
  }
  uint32_t rank = rest.goes_to;
  distance_.remove(pieces_[index], rank);
  pieces_[index] = rest;
  distance_.add(rest, rank);
  distance_.add(away, rank);
  holders_.add(away, rank);
  pieces_.push_back(away);
  at_[rank].push_back(pieces_.size() - 1);
  assign(pieces_.size() - 1, to);
}

/// Who may get the first rows of a class: one of the target's holders if
/// possible, else the one that is furthest below its size.
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
  for (uint32_t rank = 0; rank < at_.size(); ++rank)
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
      continue; // came along with another one
    // The fewest rows with which one of the class goes, on average over the
    // epochs; parts with less than that where there is nothing else.
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
      // Who has no other piece of it keeps as much.
      uint32_t most =
          holders_.pieces(piece.goes_to, label) == 1 ? all / 2 : all;
      if (piece.locked || of_label <= 0 || most == 0)
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

/// Brings the size of `rank` to its target or that of the worker which is
/// furthest off on the other side, by a part of a piece. Its end: those rows
/// are consumed last, so they are work for who gets them.
bool piece_search::cut_for(uint32_t rank) {
  bool gives = distance_.size_excess(rank) > 0;
  uint32_t other = rank;
  for (uint32_t w = 0; w < at_.size(); ++w) {
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
  for (size_t i : at_[from]) {
    const movable_piece& piece = pieces_[i];
    if (piece.locked || int64_t(rows(piece.what)) < wanted ||
        (int64_t(rows(piece.what)) == wanted && !may_move(piece, to)))
      continue;
    // Labels count by the part; bytes by the whole chunk for who has none yet.
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

void piece_search::cut_for_sizes() {
  // Every cut ends with one of two sizes met, so there are fewer than workers.
  for (size_t cuts = 0; cuts < at_.size(); ++cuts) {
    uint32_t worst = 0;
    double worst_error = 0;
    for (uint32_t w = 0; w < at_.size(); ++w) {
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

} // namespace ballast
