#include "runtime/balance/shard_moves.hpp"

#include "runtime/balance/move_prefix.hpp"
#include "runtime/balance/piece_search.hpp"
#include "runtime/balance/trim_moves.hpp"
#include "runtime/base/check.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

namespace ballast::balance {
namespace {

/// Whole numbers that sum to `total`, by largest remainder, ties to the lowest.
void round_to(uint64_t total, const std::vector<double>& parts, uint64_t* out) {
  uint64_t shared = 0;
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = 0; i < parts.size(); ++i) {
    // Sums of chunk fractions that should be whole numbers end up slightly
    // beside them.
    out[i] = std::min(uint64_t(parts[i] + 1e-6), total - shared);
    shared += out[i];
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return parts[a] - double(out[a]) > parts[b] - double(out[b]);
  });
  for (size_t i = 0; shared < total; ++i, ++shared)
    ++out[order[i % order.size()]];
}

/// The price of each chunk's bytes in rows of mean size; a set without byte
/// counts uses rows.
std::vector<double> prices(const ledger::manifest& set) {
  uint64_t all_rows = 0, all_bytes = 0;
  for (const ledger::chunk_info& chunk : set.train) {
    all_rows += chunk.rows;
    all_bytes += chunk.bytes;
  }
  std::vector<double> out;
  for (const ledger::chunk_info& chunk : set.train)
    out.push_back(all_bytes == 0 ? double(chunk.rows)
                                 : std::max(1.0, double(chunk.bytes)) *
                                       double(all_rows) / double(all_bytes));
  return out;
}

std::vector<movable_piece> pieces_of(const move_request& what,
                                     const chunk_labels& labels) {
  std::vector<double> price = prices(*what.set);
  std::vector<movable_piece> out;
  uint32_t intervals = 0;
  auto add = [&](uint32_t rank, const ledger::interval& part) {
    const ledger::chunk_info& chunk = what.set->train.at(value(part.chunk));
    movable_piece piece;
    piece.what = part;
    piece.part_of = intervals;
    piece.owner = piece.goes_to = rank;
    piece.bytes = chunk.bytes;
    piece.price = price.at(value(part.chunk));
    if (what.part_rows_max > 0)
      piece.price *= double(rows(part)) / double(chunk.rows);
    piece.locked = what.locked && what.locked(part.chunk, rank);
    piece.whole = what.set->whole_chunks;
    piece.labels = labels.of(part);
    out.push_back(std::move(piece));
  };
  for (uint32_t rank = 0; rank < what.current->shares.size(); ++rank)
    for (const ledger::interval& part : what.current->shares[rank].intervals) {
      const uint32_t all = rows(part);
      const uint32_t parts =
          what.part_rows_max == 0
              ? 1
              : (all + what.part_rows_max - 1) / what.part_rows_max;
      for (uint64_t i = 0; i < parts; ++i)
        add(rank, {part.chunk, part.begin + uint32_t(i * all / parts),
                   part.begin + uint32_t((i + 1) * all / parts)});
      ++intervals;
    }
  return out;
}

/// Joins adjacent parts of an interval that move the same way.
std::vector<movable_piece> joined(std::vector<movable_piece> pieces) {
  std::vector<std::pair<ledger::interval, size_t>> order; // cheaper to sort
  for (size_t i = 0; i < pieces.size(); ++i)
    order.emplace_back(pieces[i].what, i);
  std::sort(order.begin(), order.end());
  std::vector<movable_piece> out;
  out.reserve(pieces.size());
  for (const auto& [what, index] : order) {
    movable_piece& one = pieces[index];
    movable_piece* last = out.empty() ? nullptr : &out.back();
    if (!last || last->part_of != one.part_of ||
        last->what.end != one.what.begin || last->owner != one.owner ||
        last->goes_to != one.goes_to) {
      out.push_back(std::move(one));
      continue;
    }
    last->what.end = one.what.end;
    last->price += one.price;
    for (size_t i = 0; i < last->labels.size(); ++i)
      last->labels[i].rows += one.labels[i].rows;
  }
  return out;
}

struct ordered_move {
  size_t piece = 0;
  double gain_rows = 0;
};

/// Best gain per byte first, given the moves before it.
std::vector<ordered_move> in_order(const std::vector<movable_piece>& pieces,
                                   const move_request& what) {
  quota_distance distance(what.target, what.size_tolerance);
  struct entry {
    double per_price;
    size_t piece;
    bool operator<(const entry& other) const {
      return per_price != other.per_price ? per_price < other.per_price
                                          : piece > other.piece;
    }
  };
  auto look_at = [&](size_t i) {
    const movable_piece& piece = pieces[i];
    return entry{distance.gain(piece, piece.owner, piece.goes_to) / piece.price,
                 i};
  };
  for (const movable_piece& piece : pieces)
    distance.add(piece, piece.owner);
  std::priority_queue<entry> queue;
  for (size_t i = 0; i < pieces.size(); ++i)
    if (pieces[i].moves())
      queue.push(look_at(i));
  std::vector<ordered_move> out;
  while (!queue.empty()) {
    entry top = queue.top();
    queue.pop();
    entry now = look_at(top.piece);
    if (!queue.empty() && now < queue.top()) {
      queue.push(now);
      continue;
    }
    const movable_piece& piece = pieces[top.piece];
    out.push_back(
        {top.piece, distance.label_gain(piece, piece.owner, piece.goes_to)});
    distance.remove(piece, piece.owner);
    distance.add(piece, piece.goes_to);
  }
  return out;
}

/// Removes `part` from the intervals, one of which contains it.
void take_out(std::vector<ledger::interval>& from,
              const ledger::interval& part) {
  for (size_t i = 0; i < from.size(); ++i) {
    ledger::interval whole = from[i];
    if (whole.chunk != part.chunk || part.begin < whole.begin ||
        part.end > whole.end)
      continue;
    from.erase(from.begin() + ptrdiff_t(i));
    if (whole.begin < part.begin)
      from.push_back({whole.chunk, whole.begin, part.begin});
    if (part.end < whole.end)
      from.push_back({whole.chunk, part.end, whole.end});
    return;
  }
  BALLAST_CHECK(false, "a move of what its source does not own");
}

/// The same for many parts at once, in one pass; both sorted. Nothing if a part
/// is not contained: it may have arrived by another move.
std::optional<std::vector<ledger::interval>>
without(const std::vector<ledger::interval>& from,
        const std::vector<ledger::interval>& parts) {
  std::vector<ledger::interval> out;
  size_t next_one = 0;
  for (ledger::interval whole : from) {
    while (next_one < parts.size() && parts[next_one].chunk == whole.chunk &&
           parts[next_one].begin >= whole.begin &&
           parts[next_one].end <= whole.end) {
      const ledger::interval& part = parts[next_one++];
      if (whole.begin < part.begin)
        out.push_back({whole.chunk, whole.begin, part.begin});
      whole.begin = part.end;
    }
    if (whole.begin < whole.end)
      out.push_back(whole);
  }
  if (next_one < parts.size())
    return std::nullopt;
  return out;
}

/// All moves at once, in time linear in the intervals. Nothing is done if what
/// a worker gives away it gets by another of these moves.
bool apply_at_once(ledger::plan& to, const std::vector<shard_move>& moves) {
  const size_t ranks = to.shares.size();
  std::vector<std::vector<ledger::interval>> leave(ranks), come(ranks),
      after(ranks);
  for (const shard_move& move : moves) {
    leave.at(move.from).push_back(move.what);
    come.at(move.to).push_back(move.what);
  }
  for (size_t rank = 0; rank < ranks; ++rank) {
    const std::vector<ledger::interval>& own = to.shares[rank].intervals;
    if (!std::is_sorted(own.begin(), own.end()))
      return false;
    for (std::vector<ledger::interval>* some : {&leave[rank], &come[rank]})
      if (!std::is_sorted(some->begin(), some->end()))
        std::sort(some->begin(), some->end());
    if (leave[rank].empty() && come[rank].empty())
      continue;
    const std::vector<ledger::interval>* rest = &own;
    std::optional<std::vector<ledger::interval>> fewer;
    if (!leave[rank].empty()) {
      fewer = without(own, leave[rank]);
      if (!fewer)
        return false;
      rest = &*fewer;
    }
    after[rank].reserve(rest->size() + come[rank].size());
    std::merge(rest->begin(), rest->end(), come[rank].begin(), come[rank].end(),
               std::back_inserter(after[rank]));
  }
  for (size_t rank = 0; rank < ranks; ++rank)
    if (!leave[rank].empty() || !come[rank].empty())
      to.shares[rank].intervals = std::move(after[rank]);
  return true;
}

void apply(ledger::plan& to, const std::vector<shard_move>& moves) {
  if (apply_at_once(to, moves))
    return;
  for (const shard_move& move : moves) {
    take_out(to.shares.at(move.from).intervals.own(), move.what);
    to.shares.at(move.to).intervals.push_back(move.what);
  }
  for (ledger::share& one : to.shares)
    ledger::sort_intervals(one);
}

} // namespace

label_counts count_labels(const ledger::manifest& set, const ledger::plan& of) {
  return count_labels(chunk_labels(set), of);
}

label_counts count_labels(const chunk_labels& labels, const ledger::plan& of) {
  label_counts out(of.shares.size(), labels.classes());
  for (size_t rank = 0; rank < of.shares.size(); ++rank) {
    std::vector<double> sums(out.classes);
    uint64_t owned = 0;
    for (const ledger::interval& part : of.shares[rank].intervals) {
      owned += rows(part);
      labels.add_to(sums, part);
    }
    round_to(owned, sums, &out.at(rank, 0));
  }
  return out;
}

namespace {

/// The moves in order, as far as there is room, and where they may end.
void list_moves(move_list& out, const std::vector<movable_piece>& pieces,
                const move_request& what, search_effort& effort) {
  std::vector<uint64_t> room = what.room_bytes;
  move_prefix so_far(pieces, what.target, what.skew_max);
  if (what.skew_max >= 1)
    out.good_ends.push_back(0);
  for (const ordered_move& next_one : in_order(pieces, what)) {
    const movable_piece& piece = pieces[next_one.piece];
    if (!room.empty() && piece.bytes > room.at(piece.goes_to)) {
      out.no_room = true;
      continue;
    }
    if (!room.empty())
      room[piece.goes_to] -= piece.bytes;
    out.moves.push_back({piece.what, piece.owner, piece.goes_to, piece.bytes,
                         next_one.gain_rows});
    so_far.move(piece, piece.owner, piece.goes_to);
    effort.spend(piece.labels.size() + what.target.classes);
    if (what.skew_max >= 1 || so_far.good())
      out.good_ends.push_back(out.moves.size());
  }
  // What was not finished may leave a worker with far too much.
  if (effort.cut_short() && what.skew_max < 1 && !so_far.good_sizes())
    out.moves.resize(out.good_ends.empty() ? 0 : out.good_ends.back());
}

} // namespace

move_list choose_moves(const move_request& what) {
  BALLAST_CHECK(what.set && what.current &&
                    what.target.workers == what.current->shares.size(),
                "a target of other workers than the plan's");
  std::optional<chunk_labels> own_labels;
  const chunk_labels& labels =
      what.labels ? *what.labels : own_labels.emplace(*what.set);
  search_effort no_limit;
  search_effort& effort = what.effort ? *what.effort : no_limit;
  piece_search search(pieces_of(what, labels), what.target, what.size_tolerance,
                      effort);
  search.run();
  move_list out;
  if (what.cover)
    out.no_room = search.cover_by_cuts(what.room_bytes);
  std::vector<movable_piece> pieces = search.pieces();
  if (what.skew_max < 1)
    trim_moves(pieces, what.target, {what.skew_max, what.size_tolerance},
               effort);
  list_moves(out, joined(std::move(pieces)), what, effort);
  cut_off(out, fit_in_bytes(out.moves, what.bytes_max));
  out.after = count_labels(labels, moved_plan(*what.current, out.moves,
                                              next(what.current->number), {}));
  return out;
}

size_t fit_in_bytes(const std::vector<shard_move>& moves, uint64_t bytes_max) {
  uint64_t bytes = 0;
  size_t fit = 0;
  while (fit < moves.size() &&
         (bytes_max == 0 || bytes + moves[fit].bytes <= bytes_max))
    bytes += moves[fit++].bytes;
  return fit;
}

void cut_off(move_list& list, size_t fit) {
  if (fit < list.moves.size()) {
    auto beyond =
        std::upper_bound(list.good_ends.begin(), list.good_ends.end(), fit);
    size_t end = beyond != list.good_ends.begin() ? *std::prev(beyond)
                 : beyond != list.good_ends.end() ? *beyond
                                                  : list.moves.size();
    end = std::min(end, list.moves.size());
    list.later.insert(list.later.begin(), list.moves.begin() + ptrdiff_t(end),
                      list.moves.end());
    list.moves.resize(end);
  }
  list.rows = list.bytes = 0;
  for (const shard_move& one : list.moves) {
    list.rows += rows(one.what);
    list.bytes += one.bytes;
  }
}

ledger::plan moved_plan(const ledger::plan& before,
                        const std::vector<shard_move>& moves,
                        plan_number number,
                        const std::vector<uint64_t>& batch_weights) {
  BALLAST_CHECK(batch_weights.empty() ||
                    batch_weights.size() == before.shares.size(),
                "as many batch weights as workers");
  ledger::plan out = before;
  out.number = number;
  out.kept = {}; // of a step before
  apply(out, moves);
  for (uint32_t rank = 0; rank < out.shares.size(); ++rank) {
    ledger::share& part = out.shares[rank];
    if (part.intervals != before.shares[rank].intervals) {
      part.since = number;
      part.stream = rank;
    }
    part.batch_weight =
        batch_weights.empty() ? rows(part) : batch_weights[rank];
  }
  return out;
}

} // namespace ballast::balance
