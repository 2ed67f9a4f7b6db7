#include "runtime/ledger/take.hpp"

#include <algorithm>

namespace ballast::ledger {
namespace {

// Weights and batches may be any 64-bit number; their products need 128 bits.
__extension__ using wide = unsigned __int128;

struct quota {
  size_t rank;
  uint64_t whole;
  wide remainder;
};

/// Divides `missing` among `active` in proportion to the weights (all 0:
/// equally), by largest remainder, ties to the lowest rank; not capped yet.
std::vector<quota> apportion(uint64_t missing,
                             std::span<const take_input> ranks,
                             const std::vector<size_t>& active) {
  wide sum = 0;
  for (size_t rank : active)
    sum += ranks[rank].batch_weight;
  bool equal = sum == 0;
  if (equal)
    sum = active.size();

  std::vector<quota> out;
  out.reserve(active.size());
  uint64_t shared = 0;
  for (size_t rank : active) {
    wide part = wide(missing) * (equal ? 1 : ranks[rank].batch_weight);
    quota q{rank, uint64_t(part / sum), part % sum};
    shared += q.whole;
    out.push_back(q);
  }
  // The remainders sum to `missing - shared`, each below one: so there are more
  // non-zero remainders than rows to give, and weight 0 gets none.
  auto before = [](const quota& a, const quota& b) {
    return a.remainder != b.remainder ? a.remainder > b.remainder
                                      : a.rank < b.rank;
  };
  auto lucky = out.begin() + std::ptrdiff_t(missing - shared);
  std::nth_element(out.begin(), lucky, out.end(), before);
  std::for_each(out.begin(), lucky, [](quota& q) { ++q.whole; });
  return out;
}

} // namespace

std::vector<uint64_t> split_batch(uint64_t global_batch,
                                  std::span<const take_input> ranks) {
  std::vector<uint64_t> takes(ranks.size(), 0);
  uint64_t missing = global_batch;
  while (missing > 0) {
    std::vector<size_t> active;
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      if (takes[rank] < ranks[rank].rows_left)
        active.push_back(rank);
    if (active.empty())
      break; // fewer rows are left than the batch asks for
    for (const quota& q : apportion(missing, ranks, active)) {
      uint64_t room = ranks[q.rank].rows_left - takes[q.rank];
      uint64_t got = std::min(q.whole, room);
      takes[q.rank] += got;
      missing -= got;
    }
  }
  return takes;
}

} // namespace ballast::ledger
