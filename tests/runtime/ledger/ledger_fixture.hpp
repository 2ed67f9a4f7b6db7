/// Helpers of the ledger's tests: small sets, random plans, and a simulation
/// in which every rank draws its own rows.
#pragma once

#include "runtime/base/random.hpp"
#include "runtime/ledger/ledger.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <vector>

namespace ballast::testing {

/// Numbers for a test: a stream of its own, printed with every failure.
class test_random {
public:
  explicit test_random(uint64_t seed) : random_(seed, 0x7465737473) {}
  /// In [0, bound).
  uint64_t below(uint64_t bound) { return random_.below(bound, next_++); }
  /// In [low, high].
  uint64_t between(uint64_t low, uint64_t high) {
    return low + below(high - low + 1);
  }
  bool one_in(uint64_t n) { return below(n) == 0; }

private:
  counter_random random_;
  uint64_t next_ = 0;
};

/// Chunks of `chunk_rows` rows, the last one shorter.
inline std::vector<uint32_t> chunks_of(uint64_t rows, uint32_t chunk_rows) {
  std::vector<uint32_t> out;
  for (; rows > 0; rows -= out.back())
    out.push_back(uint32_t(std::min<uint64_t>(rows, chunk_rows)));
  return out;
}

/// Every chunk cut in a few pieces at random places.
inline std::vector<ledger::interval>
cut_chunks(const std::vector<uint32_t>& chunk_rows, uint64_t pieces_max,
           test_random& random) {
  std::vector<ledger::interval> out;
  for (uint32_t chunk = 0; chunk < chunk_rows.size(); ++chunk) {
    std::vector<uint32_t> cuts{0, chunk_rows[chunk]};
    for (uint64_t i = random.below(pieces_max); i > 0; --i)
      cuts.push_back(uint32_t(random.below(chunk_rows[chunk])));
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    for (size_t i = 1; i < cuts.size(); ++i)
      out.push_back({chunk_id(chunk), cuts[i - 1], cuts[i]});
  }
  return out;
}

/// Deals pieces to workers in proportion to `shares`; b_w = rows owned.
inline ledger::plan deal_pieces(const std::vector<ledger::interval>& pieces,
                                const std::vector<worker_id>& workers,
                                const std::vector<uint64_t>& shares,
                                plan_number number, test_random& random) {
  ledger::plan out{number, generation{1}, {}};
  for (worker_id worker : workers)
    out.shares.push_back({worker, number, 0, {}, uint32_t(out.shares.size())});
  uint64_t sum = std::accumulate(shares.begin(), shares.end(), uint64_t{0});
  for (const ledger::interval& piece : pieces) {
    uint64_t at = random.below(sum);
    size_t rank = 0;
    while (at >= shares[rank])
      at -= shares[rank++];
    out.shares[rank].intervals.push_back(piece);
  }
  for (ledger::share& part : out.shares) {
    sort_intervals(part);
    part.batch_weight = rows(part);
  }
  return out;
}

inline std::vector<worker_id> workers_named(size_t count, uint32_t first = 1) {
  std::vector<worker_id> out;
  for (size_t i = 0; i < count; ++i)
    out.push_back(worker_id(uint32_t(first + i)));
  return out;
}

/// All ranks of a run: each has a ledger and a row order of its own, as real
/// workers do, and counts how often each row was drawn.
class simulated_ranks {
public:
  simulated_ranks(const ledger::ledger_config& config,
                  const ledger::plan& first)
      : config_(config), book_(config, first) {
    renew();
    clear();
  }

  ledger::ledger& book() { return book_; }
  const std::vector<std::vector<uint32_t>>& times_drawn() const {
    return times_drawn_;
  }
  const std::vector<std::vector<ledger::row_ref>>& last_rows() const {
    return last_;
  }

  /// One step of every rank; true if it ended an epoch.
  bool step() {
    last_.assign(book_.takes().size(), {});
    for (size_t rank = 0; rank < last_.size(); ++rank) {
      own_[rank].draw(book_.parts_of(rank), last_[rank]);
      for (const ledger::row_ref& row : last_[rank])
        ++times_drawn_[value(row.chunk)][row.row];
    }
    bool ended = book_.last_of_epoch();
    book_.advance();
    if (ended)
      renew();
    return ended;
  }

  std::optional<std::string> switch_to(const ledger::plan& p) {
    auto refused = book_.switch_to(p);
    if (!refused)
      renew();
    return refused;
  }

  void clear() {
    times_drawn_.clear();
    for (uint32_t rows : config_.chunk_rows)
      times_drawn_.emplace_back(rows, 0);
  }

  void expect_each_row_drawn(uint32_t times) const {
    for (size_t chunk = 0; chunk < times_drawn_.size(); ++chunk)
      for (size_t row = 0; row < times_drawn_[chunk].size(); ++row)
        ASSERT_EQ(times_drawn_[chunk][row], times)
            << "row " << row << " of chunk " << chunk;
  }

private:
  void renew() {
    own_.clear();
    for (size_t rank = 0; rank < book_.current().shares.size(); ++rank)
      own_.push_back(book_.order_of(rank));
  }

  ledger::ledger_config config_;
  ledger::ledger book_;
  std::vector<ledger::row_order> own_;
  std::vector<std::vector<uint32_t>> times_drawn_;
  std::vector<std::vector<ledger::row_ref>> last_;
};

} // namespace ballast::testing
