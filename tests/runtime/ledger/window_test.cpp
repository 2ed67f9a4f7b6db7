// Goal: with a window, a share's draws come from so many of its intervals at a
// time, in an order that every process computes from the seed, the epoch and
// the cursors; and no row is lost or repeated for that.
#include "runtime/ledger/sequence.hpp"
#include "tests/runtime/ledger/ledger_fixture.hpp"

#include <gmock/gmock.h>
#include <set>

namespace ballast::ledger {
namespace {

using ::testing::ElementsAreArray;
using testing::test_random;

constexpr uint32_t chunk_rows = 20, chunks = 30;
const std::vector<uint32_t> all_chunks(chunks, chunk_rows);

/// Whole chunks.
share share_of(uint32_t first, uint32_t last, uint32_t since = 1) {
  share out{worker_id{7}, plan_number{since}, 0, {}};
  for (uint32_t i = first; i < last; ++i)
    out.intervals.push_back({chunk_id{i}, 0, chunk_rows});
  return out;
}

sequence start_windowed(const share& part, uint32_t window,
                        uint64_t epoch = 1) {
  return {1,
          epoch_number{epoch},
          part,
          all_chunks,
          std::vector<uint32_t>(part.intervals.size(), 0),
          0,
          window};
}

/// Begun and not at their end.
size_t begun(const sequence& at) {
  size_t out = 0;
  for (uint32_t cursor : at.cursors())
    out += cursor > 0 && cursor < chunk_rows ? 1 : 0;
  return out;
}

TEST(window, draws_each_row_once_and_from_so_many_chunks_at_a_time) {
  for (uint32_t window : {1U, 3U, chunks, 2 * chunks}) {
    SCOPED_TRACE(window);
    sequence from = start_windowed(share_of(0, chunks), window);
    std::set<row_ref> seen;
    size_t most = 0;
    while (from.rows_left() > 0) {
      seen.insert(from.draw());
      most = std::max(most, begun(from));
    }
    EXPECT_EQ(seen.size(), chunks * chunk_rows);
    EXPECT_LE(most, window);
    if (window < 5) {
      EXPECT_EQ(most, window);
    }
  }
}

TEST(window, of_one_chunk_takes_them_in_the_order_of_the_epoch) {
  const share part = share_of(0, chunks);
  for (uint64_t epoch : {1, 2}) {
    sequence from = start_windowed(part, 1, epoch);
    std::vector<uint32_t> met;
    while (from.rows_left() > 0) {
      const auto chunk = uint32_t(value(from.draw().chunk));
      if (met.empty() || met.back() != chunk)
        met.push_back(chunk);
    }
    EXPECT_THAT(met,
                ElementsAreArray(epoch_order(1, epoch_number{epoch}, part)));
  }
  EXPECT_NE(epoch_order(1, epoch_number{1}, part),
            epoch_order(1, epoch_number{2}, part));
  EXPECT_NE(epoch_order(1, epoch_number{1}, part),
            epoch_order(2, epoch_number{1}, part));
}

TEST(window, is_found_again_from_the_cursors_alone) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test_random random(seed);
    const auto window = uint32_t(random.between(1, 6));
    const share part = share_of(0, chunks);
    sequence drawn = start_windowed(part, window), skipped = drawn;
    const uint64_t count = random.below(chunks * chunk_rows);
    std::vector<row_ref> rows, rest, again;
    drawn.draw(count, rows);
    skipped.skip(count);
    ASSERT_EQ(drawn.digest(), skipped.digest());
    sequence resumed(1, epoch_number{1}, part, all_chunks, skipped.cursors(),
                     skipped.draws(), window);
    drawn.draw(drawn.rows_left(), rest);
    resumed.draw(resumed.rows_left(), again);
    ASSERT_EQ(rest, again);
  }
}

// What a dead worker had begun is in memory somewhere, and its turn has come.
TEST(window, ends_chunks_that_another_share_has_begun_before_others) {
  const share before = share_of(0, 15);
  sequence from = start_windowed(before, 3);
  from.skip(100);
  share after = share_of(0, chunks, 2);
  std::vector<uint32_t> cursors = from.cursors();
  cursors.resize(chunks, 0);
  std::set<chunk_id> open, ended;
  for (size_t i = 0; i < cursors.size(); ++i) {
    if (cursors[i] == chunk_rows)
      ended.insert(after.intervals[i].chunk);
    else if (cursors[i] > 0)
      open.insert(after.intervals[i].chunk);
  }
  // Of the chunks that it did not own, those whose turn has passed come first.
  sequence joined(1, epoch_number{1}, after, all_chunks, cursors, 0, 3);
  std::map<chunk_id, size_t> turn;
  const std::vector<uint32_t> order = epoch_order(1, epoch_number{1}, after);
  for (size_t k = 0; k < order.size(); ++k)
    turn[after.intervals[order[k]].chunk] = k;
  while (joined.rows_left() > 0) {
    const chunk_id met = joined.draw().chunk;
    EXPECT_FALSE(ended.contains(met));
    size_t earlier = 0;
    for (size_t i = 0; i < chunks; ++i)
      if (turn[chunk_id{uint32_t(i)}] < turn[met] &&
          joined.cursors()[i] < chunk_rows)
        ++earlier;
    EXPECT_LT(earlier, 3U);
  }
  EXPECT_FALSE(open.empty());
}

// Two chunks of two rows in one window: 24 orders, 23 degrees of freedom, 49.7
// = one seed in 1,000.
TEST(window, orders_of_what_it_holds_are_all_equally_likely) {
  share part{worker_id{1},
             plan_number{1},
             0,
             {{chunk_id{0}, 0, 2}, {chunk_id{1}, 0, 2}}};
  std::map<std::vector<row_ref>, int> seen;
  const int epochs = 24000;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    sequence from(9, epoch_number(uint64_t(epoch)), part, {2, 2}, {0, 0}, 0, 2);
    std::vector<row_ref> order;
    from.draw(4, order);
    ++seen[order];
  }
  ASSERT_EQ(seen.size(), 24U);
  double chi = 0, expected = epochs / 24.0;
  for (const auto& [order, count] : seen)
    chi += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi, 49.7);
}

} // namespace
} // namespace ballast::ledger
