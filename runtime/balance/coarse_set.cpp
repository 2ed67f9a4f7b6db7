#include "runtime/balance/coarse_set.hpp"

#include <algorithm>
#include <optional>

namespace ballast::balance {

namespace {

/// A share of a batch is divided among all others: with fewer groups, a worker
/// that leaves would leave unequal parts.
constexpr size_t groups_of_owner_min = 64;

} // namespace

coarse_set::coarse_set(const ledger::manifest& set, const chunk_labels& labels,
                       const ledger::plan& of, size_t groups, size_t keepers)
    : labels_(labels.labelled(), labels.classes()), current_{of.number,
                                                             of.generation,
                                                             {}} {
  set_.row = set.row;
  set_.whole_chunks = set.whole_chunks;
  const size_t of_owner = std::max(
      groups_of_owner_min, groups / std::max<size_t>(1, of.shares.size()));
  std::vector<double> sums(labels.classes());
  begins_.push_back(0);
  for (uint32_t rank = 0; rank < of.shares.size(); ++rank) {
    const ledger::share& from = of.shares[rank];
    current_.shares.push_back(
        {from.worker, from.since, from.batch_weight, {}, from.stream});
    const bool keeps = rank < keepers;
    const uint64_t rows_of_group =
        keeps ? uint64_t{1} << 31 : rows(from) / of_owner + 1;
    std::optional<chunk_id> last; // pieces of a chunk are neighbours
    for (const ledger::interval& one : from.intervals) {
      labels.add_to(sums, one);
      if (last != one.chunk)
        open_.bytes += labels.bytes_of(one.chunk);
      last = one.chunk;
      open_.rows += rows(one);
      if (!keeps)
        members_.push_back(one);
      if (open_.rows >= rows_of_group)
        close_group(rank, sums);
    }
    if (open_.rows > 0)
      close_group(rank, sums);
  }
}

void coarse_set::close_group(uint32_t rank, std::vector<double>& sums) {
  open_.id = chunk_id(uint32_t(set_.train.size()));
  current_.shares[rank].intervals.push_back({open_.id, 0, open_.rows});
  labels_.add(open_.rows, open_.bytes, sums);
  std::fill(sums.begin(), sums.end(), 0);
  set_.train_rows += open_.rows;
  set_.train.push_back(std::move(open_));
  open_ = {};
  begins_.push_back(members_.size());
}

std::vector<shard_move>
coarse_set::of_intervals(const std::vector<shard_move>& moves,
                         const ledger::manifest& set) const {
  std::vector<shard_move> ordered = moves;
  std::sort(
      ordered.begin(), ordered.end(),
      [](const shard_move& a, const shard_move& b) { return a.what < b.what; });
  std::vector<shard_move> out;
  for (const shard_move& move : ordered) {
    const size_t group = value(move.what.chunk);
    uint32_t at = 0; // in the rows of the group
    for (size_t i = begins_[group]; i < begins_[group + 1]; ++i) {
      const ledger::interval& one = members_[i];
      const uint32_t begin = std::max(at, move.what.begin);
      const uint32_t end = std::min(at + rows(one), move.what.end);
      if (begin < end)
        out.push_back(
            {{one.chunk, one.begin + (begin - at), one.begin + (end - at)},
             move.from,
             move.to,
             set.train[value(one.chunk)].bytes,
             move.gain_rows * double(end - begin) / double(rows(move.what))});
      at += rows(one);
    }
  }
  return out;
}

} // namespace ballast::balance
