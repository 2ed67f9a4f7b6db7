#include "runtime/balance/foreseen_repair.hpp"

#include "runtime/balance/repair.hpp"

#include <cstdint>

namespace ballast::balance {

namespace {

/// No plan has this number, so that the shares that it changes are known by it.
constexpr plan_number not_known_yet{UINT64_MAX};
/// Of all repairs together, 12 bytes each.
constexpr size_t intervals_max = 4'000'000;

} // namespace

foreseen_repair foresee(const ledger::manifest& set, const chunk_labels& labels,
                        double skew_tv, const ledger::plan& before,
                        size_t lost_rank) {
  foreseen_repair out;
  out.base = before.number;
  out.of = before.generation;
  for (size_t rank = 0; rank < before.shares.size(); ++rank)
    if (rank != lost_rank)
      out.workers.push_back(before.shares[rank].worker);
  placed_shares placed =
      place(set, labels, skew_tv,
            {next(before.generation), not_known_yet, out.workers, before});
  out.made = std::move(placed.what);
  out.shares = std::move(placed.shares);
  return out;
}

bool answers(const foreseen_repair& known, const place_shares& what) {
  return known.base == what.before.number &&
         known.of == what.before.generation && known.workers == what.workers;
}

ledger::plan renumbered(const foreseen_repair& known,
                        const place_shares& what) {
  ledger::plan out = known.made;
  out.number = what.number;
  out.generation = what.generation;
  for (ledger::share& one : out.shares)
    if (one.since == not_known_yet)
      one.since = what.number;
  return out;
}

bool may_foresee(const ledger::plan& before) {
  size_t intervals = 0;
  for (const ledger::share& one : before.shares)
    intervals += one.intervals.size();
  return before.shares.size() > 1 &&
         intervals <= intervals_max / before.shares.size();
}

} // namespace ballast::balance
