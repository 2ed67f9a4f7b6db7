#include "runtime/balance/memory_fit.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace ballast::balance {

namespace {

/// All pieces of one chunk that need a worker.
struct homeless_chunk {
  chunk_id id{};
  uint64_t bytes = 0;
  std::vector<ledger::interval> pieces;
};

std::set<chunk_id> chunks_of(const ledger::share& part) {
  std::set<chunk_id> out;
  for (const ledger::interval& piece : part.intervals)
    out.insert(piece.chunk);
  return out;
}

uint64_t test_bytes(const ledger::manifest& set, size_t rank, size_t world) {
  uint64_t out = 0;
  for (size_t i = rank; i < set.test.size(); i += world)
    out += set.test[i].bytes;
  return out;
}

class fitting {
public:
  fitting(const ledger::manifest& set, ledger::plan& all,
          std::span<const uint64_t> limits)
      : set_(set), all_(all), limits_(limits), held_(held_bytes(set, all)) {}

  bool fits() const {
    for (size_t rank = 0; rank < held_.size(); ++rank)
      if (held_[rank] > limits_[rank])
        return false;
    return true;
  }

  /// Before anything is shed or given: most plans fit, and need no sets.
  void list_chunks() {
    for (const ledger::share& part : all_.shares)
      owned_.push_back(chunks_of(part));
  }

  /// Chunks that are new at this worker leave first, because they are not
  /// copied yet.
  void shed(size_t rank, const std::set<chunk_id>& before) {
    std::vector<chunk_id> order(owned_[rank].begin(), owned_[rank].end());
    std::stable_sort(order.begin(), order.end(), [&](chunk_id a, chunk_id b) {
      return before.contains(a) < before.contains(b);
    });
    for (chunk_id id : order) {
      if (held_[rank] <= limits_[rank])
        return;
      take_from(rank, id);
    }
  }

  memory_need give_out() {
    std::stable_sort(homeless_.begin(), homeless_.end(),
                     [](const homeless_chunk& a, const homeless_chunk& b) {
                       return a.bytes != b.bytes ? a.bytes > b.bytes
                                                 : a.id < b.id;
                     });
    memory_need out;
    for (const homeless_chunk& one : homeless_)
      if (!give(one))
        out.lacking_bytes += one.bytes;
    for (size_t rank = 0; rank < held_.size(); ++rank) {
      out.free_bytes += room(rank);
      if (held_[rank] > limits_[rank]) // by its part of the test set alone
        out.lacking_bytes += held_[rank] - limits_[rank];
    }
    return out;
  }

private:
  uint64_t bytes_of(chunk_id id) const {
    return set_.train.at(value(id)).bytes;
  }
  uint64_t room(size_t rank) const {
    return limits_[rank] > held_[rank] ? limits_[rank] - held_[rank] : 0;
  }

  void take_from(size_t rank, chunk_id id) {
    homeless_chunk out{id, bytes_of(id), {}};
    std::erase_if(all_.shares[rank].intervals.own(),
                  [&](const ledger::interval& piece) {
                    if (piece.chunk == id)
                      out.pieces.push_back(piece);
                    return piece.chunk == id;
                  });
    held_[rank] -= out.bytes;
    owned_[rank].erase(id);
    homeless_.push_back(std::move(out));
  }

  bool give(const homeless_chunk& what) {
    std::optional<size_t> best;
    for (size_t rank = 0; rank < held_.size(); ++rank) {
      if (owned_[rank].contains(what.id)) { // costs no memory there
        best = rank;
        break;
      }
      if (room(rank) >= what.bytes && (!best || room(rank) > room(*best)))
        best = rank;
    }
    if (!best)
      return false;
    for (const ledger::interval& piece : what.pieces)
      all_.shares[*best].intervals.push_back(piece);
    if (owned_[*best].insert(what.id).second)
      held_[*best] += what.bytes;
    return true;
  }

  const ledger::manifest& set_;
  ledger::plan& all_;
  std::span<const uint64_t> limits_;
  std::vector<uint64_t> held_;
  std::vector<std::set<chunk_id>> owned_;
  std::vector<homeless_chunk> homeless_;
};

bool weighs_by_rows(const ledger::plan& of) {
  return std::all_of(
      of.shares.begin(), of.shares.end(),
      [](const ledger::share& one) { return one.batch_weight == rows(one); });
}

/// An unchanged share keeps its position in the epoch.
void renew_changed(ledger::plan& out, const ledger::plan& before) {
  std::map<worker_id, const ledger::share*> old;
  for (const ledger::share& one : before.shares)
    old[one.worker] = &one;
  for (size_t rank = 0; rank < out.shares.size(); ++rank) {
    ledger::share& one = out.shares[rank];
    ledger::sort_intervals(one);
    auto found = old.find(one.worker);
    if (found != old.end() && found->second->intervals == one.intervals) {
      one.since = found->second->since;
      one.stream = found->second->stream;
    } else {
      one.since = out.number;
      one.stream = uint32_t(rank);
    }
  }
}

} // namespace

std::vector<uint64_t> held_bytes(const ledger::manifest& set,
                                 const ledger::plan& of) {
  std::vector<uint64_t> out;
  for (size_t rank = 0; rank < of.shares.size(); ++rank) {
    uint64_t sum = test_bytes(set, rank, of.shares.size());
    std::optional<chunk_id> last; // sorted: pieces of a chunk are neighbours
    for (const ledger::interval& piece : of.shares[rank].intervals) {
      if (last != piece.chunk)
        sum += set.train.at(value(piece.chunk)).bytes;
      last = piece.chunk;
    }
    out.push_back(sum);
  }
  return out;
}

namespace {

/// Half: the other half is for what comes next.
uint32_t window_within(const ledger::manifest& set,
                       std::span<const uint64_t> limits) {
  uint64_t largest = 1;
  for (const ledger::chunk_info& one : set.train)
    largest = std::max(largest, one.bytes);
  const uint64_t least = *std::min_element(limits.begin(), limits.end());
  return uint32_t(
      std::min<uint64_t>(least / 2 / largest, ledger::window_chunks_max));
}

} // namespace

memory_need fit_memory(const ledger::manifest& set, const ledger::plan& before,
                       ledger::plan& out, std::span<const uint64_t> limits) {
  if (limits.empty())
    return {};
  const bool by_rows = weighs_by_rows(out);
  fitting work(set, out, limits);
  if (work.fits())
    return {};
  work.list_chunks();
  std::map<worker_id, std::set<chunk_id>> had;
  for (const ledger::share& one : before.shares)
    had[one.worker] = chunks_of(one);
  for (size_t rank = 0; rank < out.shares.size(); ++rank)
    work.shed(rank, had[out.shares[rank].worker]);
  memory_need lacks = work.give_out();
  lacks.window_chunks = window_within(set, limits);
  renew_changed(out, before);
  if (by_rows)
    for (ledger::share& one : out.shares)
      one.batch_weight = rows(one);
  return lacks;
}

} // namespace ballast::balance
