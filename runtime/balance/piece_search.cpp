#include "runtime/balance/piece_search.hpp"

#include <algorithm>
#include <cmath>
#include <queue>

namespace ballast::balance {
namespace {

/// Gain in rows that a row of bytes must bring; below it a piece moves for
/// almost nothing.
constexpr double rows_gained_per_row_min = 0.1;
/// A label of a piece that is moved, in label entries examined: it is looked up
/// in several tables.
constexpr uint64_t placed_effort = 8;
/// A piece that is looked at, whatever its labels; sorting included.
constexpr uint64_t piece_effort = 16;
/// Number of best pieces in each direction that are tried as swaps.
constexpr size_t swap_candidates = 4;
constexpr size_t sweeps_max = 4;
constexpr size_t rounds_max = 4;
constexpr uint64_t effort_max = 100'000'000;
constexpr double smallest_gain = 1e-6;
/// The fraction of the effort that is kept for what follows the first step
/// (pairs, which bring the sizes), and for what follows the whole search.
constexpr double kept_for_pairs = 0.6;
constexpr double kept_for_later = 0.25;

} // namespace

piece_search::piece_search(std::vector<movable_piece> pieces,
                           const label_counts& target, double size_tolerance,
                           search_effort& effort)
    : pieces_(std::move(pieces)), distance_(target, size_tolerance),
      holders_(target), at_(target.workers), gains_(target.workers),
      bounds_(target.workers), pairs_left_(effort_max), effort_(effort) {
  for (size_t i = 0; i < pieces_.size(); ++i) {
    distance_.add(pieces_[i], pieces_[i].goes_to);
    holders_.add(pieces_[i], pieces_[i].goes_to);
    at_.append(pieces_[i].goes_to, i);
  }
}

void piece_search::run() {
  empty_leavers();
  if (effort_.left() != search_effort::unlimited) {
    kept_for_pairs_ = uint64_t(kept_for_pairs * double(effort_.left()));
    kept_for_later_ = uint64_t(kept_for_later * double(effort_.left()));
  }
  // The first of the two steps ignores sizes, so it may go astray if there is
  // little to do, or escape a local optimum of the second.
  for (size_t round = 0; round < rounds_max && may_go_on(); ++round) {
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
  if (effort_.cut_short() && !effort_.stopped())
    level_sizes();
  cut_for_sizes();
}

/// Larger is better: near the quota, with few bytes.
double piece_search::value() const {
  double out = -distance_.total();
  for (const movable_piece& piece : pieces_)
    if (piece.moves())
      out += price(piece, piece.owner);
  return out;
}

/// The cost if the piece ends at `to` instead of its present place.
double piece_search::price(const movable_piece& piece, uint32_t to) const {
  return piece.price * rows_gained_per_row_min *
         (double(to != piece.owner) - double(piece.moves()));
}

void piece_search::assign(size_t index, uint32_t to) {
  movable_piece& piece = pieces_[index];
  bounds_[piece.goes_to].fresh = bounds_[to].fresh = false;
  at_.remove(piece.goes_to, index);
  distance_.remove(piece, piece.goes_to);
  holders_.remove(piece, piece.goes_to);
  piece.goes_to = to;
  distance_.add(piece, to);
  holders_.add(piece, to);
  at_.append(to, index);
}

const piece_search::rank_bound& piece_search::bound_of(uint32_t rank) {
  rank_bound& out = bounds_[rank];
  if (out.fresh)
    return out;
  out = {distance_.error(rank), 1e300, 0, 0, true};
  for (size_t i : at_.of(rank)) {
    const movable_piece& piece = pieces_[i];
    out.labels += piece.labels.size();
    ++out.pieces;
    // A piece already moving is redirected for free, or returns with a refund.
    double least =
        piece.price * rows_gained_per_row_min * (piece.moves() ? -1 : 1);
    out.least_price = std::min(out.least_price, least);
  }
  return out;
}

/// False if no other place can be better for the labels: an arrival brings a
/// worker nearer to its quota by at most half of the piece's rows.
bool piece_search::may_gain(size_t index) const {
  const movable_piece& piece = pieces_[index];
  double most =
      distance_.gain_of_leaving(piece, piece.goes_to) -
      piece.price * rows_gained_per_row_min * (piece.moves() ? -1 : 1);
  for (const label_rows& part : piece.labels)
    most += part.rows / 2;
  return most > 0;
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
  spend(place_effort(piece));
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

/// A leaving worker keeps nothing, whatever that does to the labels of others.
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

/// Gains mostly shrink as other pieces move, so a stored best gain is
/// recomputed only when it reaches the top of the heap.
void piece_search::take_the_best() {
  distance_.count_sizes(false);
  auto per_byte = [&](const choice& c) {
    return c.gain / pieces_[c.piece].price;
  };
  auto worse = [&](const choice& a, const choice& b) {
    double gain_a = per_byte(a), gain_b = per_byte(b);
    return gain_a != gain_b ? gain_a < gain_b : a.piece > b.piece;
  };
  // All pieces are looked at once, whatever that takes.
  for (size_t sweep = 0;
       sweep < sweeps_max && (sweep == 0 || effort_.allows(kept_for_pairs_));
       ++sweep) {
    std::priority_queue<choice, std::vector<choice>, decltype(worse)> queue(
        worse);
    for (size_t i = 0; i < pieces_.size(); ++i)
      if (!pieces_[i].locked && !may_gain(i))
        spend(place_effort(pieces_[i]));
      else if (!pieces_[i].locked)
        if (choice best = best_place(i); best.gain > smallest_gain)
          queue.push(best);
    auto still_first = [&](const choice& c) {
      return c.gain > smallest_gain &&
             (queue.empty() || !worse(c, queue.top()));
    };
    bool moved = false;
    while (!queue.empty() && effort_.allows(kept_for_pairs_)) {
      choice top = queue.top();
      queue.pop();
      const movable_piece& piece = pieces_[top.piece];
      effort_.spend(piece_effort + placed_effort * piece.labels.size());
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
    for (uint32_t a = 0; a < workers(); ++a)
      for (uint32_t b = a + 1; b < workers(); ++b)
        while (may_go_on() && improve_pair(a, b))
          better = true;
    if (!better)
      break;
  }
}

/// The best pieces to move from `from` to `to`, best first.
std::vector<piece_search::choice>
piece_search::best_singles(uint32_t from, uint32_t to) const {
  std::vector<choice> out;
  if (distance_.size_target(to) == 0)
    return out;
  for (size_t i : at_.of(from))
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
  const rank_bound& of_a = bound_of(a);
  const rank_bound& of_b = bound_of(b);
  spend(1 + 2 * (of_a.labels + of_b.labels));
  effort_.spend(piece_effort * (of_a.pieces + of_b.pieces) +
                2 * (of_a.labels + of_b.labels));
  // No move brings either worker below error 0, and every move has a price.
  if (double price = std::min(of_a.least_price, of_b.least_price);
      price >= 0 && of_a.error + of_b.error <= price)
    return false;
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
    for (uint32_t from = 0; from < workers(); ++from)
      if (holders_.pieces(from, label) > 1 && effort_.allows(1))
        spread(label, from);
}

/// The least harmful of several pieces with the class moves to a worker that
/// has some of it in the quota, if necessary in a swap.
void piece_search::spread(uint32_t label, uint32_t from) {
  choice best{-1e300};
  bool found = false;
  for (size_t i : at_.of(from)) {
    const movable_piece& piece = pieces_[i];
    effort_.spend(piece.labels.size());
    if (piece.locked || !piece.has(label))
      continue;
    effort_.spend(place_effort(piece));
    distance_.gains_of_coming(piece, gains_);
    double gain_here = distance_.gain_of_leaving(piece, from);
    for (uint32_t to = 0; to < workers(); ++to) {
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
  // A second holder justifies some harm to the shares, not any.
  if (best.gain < -double(rows(pieces_[best.piece].what)) / 2)
    return;
  perform(best);
}

} // namespace ballast::balance
