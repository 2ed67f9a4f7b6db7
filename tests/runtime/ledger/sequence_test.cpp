#include "runtime/ledger/fenwick.hpp"
#include "runtime/ledger/sequence.hpp"
#include "tests/runtime/ledger/ledger_fixture.hpp"

#include <set>

namespace ballast::ledger {
namespace {

using testing::test_random;

/// A share of a few whole and cut chunks.
share odd_share() {
  return {worker_id{7},
          plan_number{3},
          0,
          {{chunk_id{0}, 0, 5},
           {chunk_id{0}, 9, 30},
           {chunk_id{2}, 0, 17},
           {chunk_id{3}, 4, 5}}};
}
const std::vector<uint32_t> odd_chunks{30, 8, 17, 64};

sequence start(const share& part, uint64_t seed = 1, uint64_t epoch = 1) {
  return {seed,
          epoch_number{epoch},
          part,
          odd_chunks,
          std::vector<uint32_t>(part.intervals.size(), 0),
          0};
}

TEST(fenwick_tree, takes_what_a_plain_prefix_sum_takes) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test_random random(seed);
    std::vector<uint32_t> counts(random.between(1, 40));
    for (uint32_t& count : counts)
      count = uint32_t(random.below(6));
    uint64_t left = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
    fenwick_tree tree(counts);
    for (; left > 0; --left) {
      ASSERT_EQ(tree.total(), left);
      uint64_t target = random.below(left);
      uint64_t rest = target;
      uint32_t expected = 0;
      while (rest >= counts[expected])
        rest -= counts[expected++];
      ASSERT_EQ(tree.take(target), expected);
      --counts[expected];
    }
    ASSERT_EQ(tree.total(), 0U);
  }
}

TEST(epoch_permutation, holds_every_row_once_and_differs_by_every_key) {
  for (uint32_t rows : {1U, 2U, 3U, 4U, 255U, 256U, 1001U}) {
    auto order = epoch_permutation(1, epoch_number{1}, chunk_id{0}, rows);
    std::set<uint32_t> seen(order.begin(), order.end());
    EXPECT_EQ(seen.size(), rows);
    EXPECT_EQ(*seen.rbegin(), rows - 1);
  }
  auto base = epoch_permutation(1, epoch_number{1}, chunk_id{0}, 256);
  EXPECT_NE(base, epoch_permutation(2, epoch_number{1}, chunk_id{0}, 256));
  EXPECT_NE(base, epoch_permutation(1, epoch_number{2}, chunk_id{0}, 256));
  EXPECT_NE(base, epoch_permutation(1, epoch_number{1}, chunk_id{1}, 256));
}

TEST(epoch_permutation, puts_every_row_everywhere_equally_often) {
  // Chi-square of (row, position) over 5,000 chunks of 6 rows; 25 degrees of
  // freedom, so 52.6 is passed by chance once in 1,000 seeds; this is one seed.
  const int rounds = 5000, n = 6;
  std::vector<int> seen(n * n, 0);
  for (uint32_t chunk = 0; chunk < rounds; ++chunk) {
    auto order = epoch_permutation(42, epoch_number{1}, chunk_id{chunk}, n);
    for (int position = 0; position < n; ++position)
      ++seen[size_t(position * n) + order[size_t(position)]];
  }
  double chi = 0, expected = double(rounds) / n;
  for (int count : seen)
    chi += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi, 52.6);
}

TEST(sequence, draws_every_row_exactly_once) {
  share part = odd_share();
  sequence rows_of = start(part);
  std::vector<row_ref> drawn;
  rows_of.draw(rows_of.rows_left(), drawn);
  std::set<row_ref> distinct(drawn.begin(), drawn.end());
  EXPECT_EQ(drawn.size(), rows(part));
  EXPECT_EQ(distinct.size(), drawn.size());
  EXPECT_EQ(rows_of.rows_left(), 0U);
  // Exactly the rows that the intervals mean in this epoch.
  std::set<row_ref> owned;
  for (const interval& piece : part.intervals) {
    auto order = epoch_permutation(1, epoch_number{1}, piece.chunk,
                                   odd_chunks[value(piece.chunk)]);
    for (uint32_t i = piece.begin; i < piece.end; ++i)
      owned.insert({piece.chunk, order[i]});
  }
  EXPECT_EQ(distinct, owned);
}

TEST(sequence, is_the_same_in_every_process_and_another_by_every_key) {
  auto drawn = [](share part, uint64_t seed, uint64_t epoch) {
    sequence from = start(part, seed, epoch);
    std::vector<row_ref> out;
    from.draw(from.rows_left(), out);
    return out;
  };
  auto base = drawn(odd_share(), 1, 1);
  EXPECT_EQ(base, drawn(odd_share(), 1, 1));
  EXPECT_NE(base, drawn(odd_share(), 2, 1));
  EXPECT_NE(base, drawn(odd_share(), 1, 2));
  share other = odd_share();
  other.since = plan_number{4};
  EXPECT_NE(base, drawn(other, 1, 1));
  other = odd_share();
  other.stream = 1;
  EXPECT_NE(base, drawn(other, 1, 1));
  // The weight and the plan in force are no part of the key, and neither is
  // the worker's id: it depends on who joined first.
  share alike = odd_share();
  alike.batch_weight = 99;
  alike.worker = worker_id{77};
  EXPECT_EQ(base, drawn(alike, 1, 1));
}

TEST(sequence, keeps_its_numbers_from_version_to_version) {
  // A run is resumed, and audited, by later versions too: these numbers are a
  // file format.
  sequence from = start(odd_share());
  std::vector<row_ref> drawn;
  from.draw(6, drawn);
  std::vector<std::pair<uint32_t, uint32_t>> got;
  for (const row_ref& row : drawn)
    got.emplace_back(value(row.chunk), row.row);
  EXPECT_EQ(got, (std::vector<std::pair<uint32_t, uint32_t>>{
                     {2, 8}, {2, 7}, {0, 16}, {0, 17}, {0, 3}, {0, 19}}));
  EXPECT_EQ(from.digest(), 4064180080706083228U);
}

TEST(sequence, skips_to_where_drawing_would_have_led) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test_random random(seed);
    sequence drawing = start(odd_share(), seed), skipping = drawing;
    uint64_t count = random.below(drawing.rows_left() + 1);
    std::vector<row_ref> rows;
    drawing.draw(count, rows);
    skipping.skip(count);
    ASSERT_EQ(drawing.cursors(), skipping.cursors());
    ASSERT_EQ(drawing.digest(), skipping.digest());
    // And a third process that starts from the snapshot draws the same rest.
    sequence resumed(seed, epoch_number{1}, odd_share(), odd_chunks,
                     skipping.cursors(), skipping.draws());
    std::vector<row_ref> rest, resumed_rest;
    drawing.draw(drawing.rows_left(), rest);
    resumed.draw(resumed.rows_left(), resumed_rest);
    ASSERT_EQ(rest, resumed_rest);
  }
}

TEST(sequence, copies_look_ahead_without_moving_the_original) {
  sequence original = start(odd_share());
  std::vector<row_ref> before, ahead, after;
  original.draw(5, before);
  sequence copy = original;
  copy.draw(10, ahead);
  original.draw(10, after);
  EXPECT_EQ(ahead, after);
}

TEST(sequence, digest_tells_every_difference_of_cursors_and_draws) {
  auto digest = [](std::vector<uint32_t> cursors, uint64_t draws,
                   uint64_t epoch = 1) {
    return sequence(1, epoch_number{epoch}, odd_share(), odd_chunks,
                    std::move(cursors), draws)
        .digest();
  };
  std::set<uint64_t> seen{digest({0, 0, 0, 0}, 0),    digest({0, 0, 0, 0}, 1),
                          digest({0, 0, 0, 0}, 0, 2), digest({1, 0, 0, 0}, 1),
                          digest({0, 1, 0, 0}, 1),    digest({0, 0, 0, 1}, 1),
                          digest({2, 1, 0, 0}, 3),    digest({1, 2, 0, 0}, 3)};
  EXPECT_EQ(seen.size(), 8U);
}

TEST(sequence, first_draw_is_uniform_over_all_rows_owned) {
  // Goal: the draw by what remains, then by the chunk's order, is a uniform
  // shuffle. Method: the first and the last row of 44,000 epochs, chi-square
  // over the 111 rows that can be met; a cut chunk's part means other rows in
  // each epoch.
  share part = odd_share();
  const uint64_t per_row = 1000, epochs = rows(part) * per_row;
  std::map<row_ref, uint64_t> first, last;
  for (uint64_t epoch = 1; epoch <= epochs; ++epoch) {
    sequence from = start(part, 7, epoch);
    ++first[from.draw()];
    from.skip(from.rows_left() - 1);
    ++last[from.draw()];
  }
  std::vector<std::pair<uint32_t, uint32_t>> owned{{0, 26}, {2, 17}, {3, 1}};
  for (const auto& seen : {first, last}) {
    double chi = 0;
    int cells = 0;
    for (auto [chunk, owned_rows] : owned)
      for (uint32_t row = 0; row < odd_chunks[chunk]; ++row, ++cells) {
        auto found = seen.find({chunk_id{chunk}, row});
        double count = found == seen.end() ? 0 : double(found->second);
        double expected = double(per_row) * owned_rows / odd_chunks[chunk];
        chi += (count - expected) * (count - expected) / expected;
      }
    ASSERT_EQ(cells, 111);
    EXPECT_LT(chi, 161.6) << "110 degrees of freedom, one seed in 1,000";
  }
}

TEST(sequence, orders_of_a_small_share_are_all_equally_likely) {
  // Two intervals of 2 and 1 rows (all whole chunks): 6 orders, 5 degrees of
  // freedom, 20.5 = one seed in 1,000.
  share part{worker_id{1},
             plan_number{1},
             0,
             {{chunk_id{0}, 0, 2}, {chunk_id{1}, 0, 1}}};
  std::map<std::vector<row_ref>, int> seen;
  const int epochs = 12000;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    sequence from(9, epoch_number(uint64_t(epoch)), part, {2, 1}, {0, 0}, 0);
    std::vector<row_ref> order;
    from.draw(3, order);
    ++seen[order];
  }
  ASSERT_EQ(seen.size(), 6U);
  double chi = 0, expected = epochs / 6.0;
  for (const auto& [order, count] : seen)
    chi += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi, 20.5);
}

TEST(sequence, a_broken_promise_stops_the_process) {
  share part = odd_share();
  sequence from = start(part);
  EXPECT_DEATH(from.skip(rows(part) + 1), "rows that are left");
  EXPECT_DEATH(sequence(1, epoch_number{1}, part, odd_chunks, {0}, 0),
               "one cursor per interval");
}

} // namespace
} // namespace ballast::ledger
