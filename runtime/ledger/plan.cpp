#include "runtime/ledger/plan.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace ballast::ledger {
namespace {

std::string text(const interval& part) {
  return "[" + std::to_string(part.begin) + ", " + std::to_string(part.end) +
         ") of chunk " + to_string(part.chunk);
}

/// The checks that concern one share alone.
std::optional<std::string>
share_error(const plan& p, const share& part,
            const std::vector<uint32_t>& chunk_rows) {
  std::string who = "worker " + to_string(part.worker);
  if (part.worker == worker_id{})
    return "a share belongs to worker 0, which is nobody";
  if (part.since > p.number)
    return who + " has its intervals since plan " + to_string(part.since) +
           ", later than this plan";
  const std::vector<interval>& pieces = part.intervals;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const interval& piece = pieces[i];
    if (value(piece.chunk) >= chunk_rows.size())
      return who + " owns " + text(piece) + ", but there are only " +
             std::to_string(chunk_rows.size()) + " chunks";
    if (piece.begin >= piece.end || piece.end > chunk_rows[value(piece.chunk)])
      return who + " owns " + text(piece) + ", which is empty or outside its " +
             std::to_string(chunk_rows[value(piece.chunk)]) + " rows";
    if (i > 0 && pieces[i - 1] >= piece)
      return who + " owns " + text(piece) + " after " + text(pieces[i - 1]) +
             ": not sorted by chunk and begin";
  }
  return std::nullopt;
}

/// Checks that every row of every chunk is in exactly one interval of `all`,
/// which is sorted.
std::optional<std::string>
cover_error(const std::vector<interval>& all,
            const std::vector<uint32_t>& chunk_rows) {
  auto piece = all.begin();
  for (size_t chunk = 0; chunk < chunk_rows.size(); ++chunk) {
    uint32_t covered = 0;
    for (; piece != all.end() && value(piece->chunk) == chunk; ++piece) {
      if (piece->begin > covered)
        return "nobody owns " + text({piece->chunk, covered, piece->begin});
      if (piece->begin < covered)
        return "two owners for " + text({piece->chunk, piece->begin,
                                         std::min(covered, piece->end)});
      covered = piece->end;
    }
    if (covered < chunk_rows[chunk])
      return "nobody owns " +
             text({chunk_id(uint32_t(chunk)), covered, chunk_rows[chunk]});
  }
  return std::nullopt;
}

/// True if every chunk has one owner, or owners whose parts follow each other.
/// Most chunks have one: these are only counted off.
bool covers(const plan& p, const std::vector<uint32_t>& chunk_rows) {
  std::vector<bool> whole(chunk_rows.size());
  std::vector<interval> parts;
  size_t seen = 0;
  for (const share& part : p.shares)
    for (const interval& piece : part.intervals) {
      const size_t chunk = value(piece.chunk);
      if (rows(piece) < chunk_rows[chunk]) {
        parts.push_back(piece);
        continue;
      }
      if (whole[chunk])
        return false;
      whole[chunk] = true;
      ++seen;
    }
  std::sort(parts.begin(), parts.end());
  for (size_t i = 0; i < parts.size();) {
    const size_t chunk = value(parts[i].chunk);
    uint32_t reached = 0;
    for (; i < parts.size() && value(parts[i].chunk) == chunk; ++i) {
      if (parts[i].begin != reached)
        return false;
      reached = parts[i].end;
    }
    if (whole[chunk] || reached != chunk_rows[chunk])
      return false;
    ++seen;
  }
  // What is left has no rows.
  return seen == chunk_rows.size() ||
         seen + size_t(std::count(chunk_rows.begin(), chunk_rows.end(), 0u)) ==
             chunk_rows.size();
}

} // namespace

uint64_t rows(const share& part) {
  uint64_t sum = 0;
  for (const interval& piece : part.intervals)
    sum += rows(piece);
  return sum;
}

void sort_intervals(share& part) {
  if (std::is_sorted(part.intervals.begin(), part.intervals.end()))
    return;
  std::vector<interval>& list = part.intervals.own();
  std::sort(list.begin(), list.end());
}

std::optional<std::string>
partition_error(const plan& p, const std::vector<uint32_t>& chunk_rows) {
  if (p.shares.empty())
    return "the plan names no workers";
  std::set<worker_id> seen;
  std::set<std::pair<plan_number, uint32_t>> streams;
  for (const share& part : p.shares) {
    if (auto error = share_error(p, part, chunk_rows))
      return error;
    if (!seen.insert(part.worker).second)
      return "worker " + to_string(part.worker) + " has two shares";
    if (!streams.insert({part.since, part.stream}).second)
      return "worker " + to_string(part.worker) + " draws by stream " +
             std::to_string(part.stream) + " of plan " + to_string(part.since) +
             ", and so does another";
  }
  if (covers(p, chunk_rows))
    return std::nullopt;
  std::vector<interval> all;
  for (const share& part : p.shares)
    all.insert(all.end(), part.intervals.begin(), part.intervals.end());
  std::sort(all.begin(), all.end());
  return cover_error(all, chunk_rows);
}

std::optional<std::string>
succession_error(const plan& before, const plan& after,
                 const std::vector<uint32_t>& chunk_rows) {
  if (after.number <= before.number)
    return "plan " + to_string(after.number) + " is not newer than plan " +
           to_string(before.number);
  if (after.generation < before.generation)
    return "generation " + to_string(after.generation) + " is older than " +
           to_string(before.generation);
  if (auto error = partition_error(after, chunk_rows))
    return error;
  std::map<worker_id, const share*> old;
  for (const share& part : before.shares)
    old[part.worker] = &part;
  for (const share& part : after.shares) {
    if (part.since == after.number)
      continue;
    auto same = old.find(part.worker);
    if (same == old.end() || same->second->since != part.since ||
        same->second->stream != part.stream ||
        same->second->intervals != part.intervals)
      return "worker " + to_string(part.worker) + " has its intervals since " +
             "plan " + to_string(part.since) + " by plan " +
             to_string(after.number) + ", but not under plan " +
             to_string(before.number);
  }
  return std::nullopt;
}

} // namespace ballast::ledger
