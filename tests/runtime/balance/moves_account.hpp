/// What the moves of a run came to, against the fewest that could: from its
/// first owners, or from the last disturbance, to the owners at the next one.
#pragma once

#include "tests/runtime/balance/moves_fixture.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace ballast::testing {

class moves_account {
public:
  explicit moves_account(ledger::plan first) : first_(std::move(first)) {}

  void moved(const std::vector<balance::shard_move>& moves) {
    for (const balance::shard_move& one : moves)
      for (uint32_t row = one.what.begin; row < one.what.end; ++row)
        again_ += times_[{one.what.chunk, row}]++ > 0;
  }

  /// What moves from now on is a story of its own.
  void close(const ledger::manifest& set, const ledger::plan& now,
             double skew_tv) {
    const double reached = max_of(skews(balance::count_labels(set, now)));
    balance::quota_request what{
        balance::count_labels(set, first_), {}, std::max(skew_tv, reached), 2};
    for (const ledger::share& one : now.shares)
      what.sizes.push_back(rows(one));
    least_ += exact_quota(what).moved;
    first_ = now;
    times_.clear();
  }

  /// The fewest rows that lead to as good an end: the sizes that it has, and
  /// the skew that was asked for, or that it has.
  uint64_t least() const { return least_; }
  /// Rows that moved more than once.
  uint64_t again() const { return again_; }

private:
  ledger::plan first_;
  std::map<std::pair<chunk_id, uint32_t>, uint32_t> times_; // by row
  uint64_t least_ = 0;
  uint64_t again_ = 0;
};

} // namespace ballast::testing
