// Goal: of order global a step has the same rows in the same order, whatever
// workers there are and whatever they hold. Method: random runs whose plans
// change at any step, against the epoch's order itself.
#include "runtime/ledger/replay.hpp"
#include "runtime/ledger/step_takes.hpp"
#include "tests/runtime/ledger/ledger_fixture.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ballast::ledger {
namespace {

using namespace ballast::testing;

ledger_config config(uint64_t seed, uint64_t batch,
                     const std::vector<uint32_t>& chunk_rows, uint32_t leaves,
                     uint32_t window = 0) {
  ledger_config out{seed, batch, chunk_rows};
  out.window_chunks = window;
  out.leaves = leaves;
  return out;
}

plan any_plan(const ledger_config& how, uint64_t number, test_random& random) {
  const uint64_t world = random.between(1, 6);
  std::vector<uint64_t> shares;
  for (uint64_t i = 0; i < world; ++i)
    shares.push_back(random.between(1, 5));
  plan out = deal_pieces(cut_chunks(how.chunk_rows, 3, random),
                         workers_named(world, uint32_t(random.between(1, 4))),
                         shares, plan_number{number}, random);
  out.generation = generation{number};
  for (share& one : out.shares)
    one.batch_weight = random.below(5);
  return out;
}

/// As after a failure in the next step, or in another.
void keep_some(plan& what, const ledger& book, uint32_t leaves,
               test_random& random) {
  std::vector<leaf_ranges> had(what.shares.size());
  std::vector<uint64_t> weights;
  for (size_t rank = 0; rank < had.size(); ++rank) {
    weights.push_back(what.shares[rank].batch_weight);
    for (size_t before = 0; before < book.leaves().size(); ++before)
      if (book.current().shares[before].worker == what.shares[rank].worker)
        had[rank] = book.leaves()[before];
  }
  const step_number step{value(book.next().step) + random.below(3)};
  what.kept = keep_leaves(step, had, weights, leaves);
}

TEST(global_ledger, does_the_same_steps_whoever_is_there) {
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test_random random(seed);
    const uint64_t rows = random.between(1, 900);
    const ledger_config how =
        config(seed, random.between(1, rows + 5),
               chunks_of(rows, uint32_t(random.between(1, 80))),
               1u << random.below(5), uint32_t(random.below(4)));
    uint64_t number = 1;
    recorded_run record{how, {}};
    const plan first = any_plan(how, number, random);
    record.plans.push_back({first, position{}});
    simulated_ranks all(how, first);
    std::vector<std::vector<std::vector<row_ref>>> done;
    for (uint64_t epoch = 1; epoch <= 2; ++epoch) {
      const global_order order(seed, epoch_number{epoch}, how.chunk_rows,
                               how.window_chunks, nullptr);
      dealt_uses known;
      uint64_t position = 0;
      all.clear();
      bool ended = false;
      while (!ended) {
        if (random.one_in(4)) { // any partition, at any step
          plan other = any_plan(how, ++number, random);
          if (random.one_in(2))
            keep_some(other, all.book(), how.leaves, random);
          ASSERT_EQ(all.switch_to(other), std::nullopt);
          record.plans.push_back({other, all.book().next()});
        }
        const bool kept =
            all.book().current().kept.step == all.book().next().step;
        const uint64_t count = std::min(how.global_batch, rows - position);
        ASSERT_EQ(all.book().last_of_epoch(), position + count == rows);
        std::vector<row_ref> expected, found;
        order.draw({position, count}, known, expected);
        position += count;
        ended = all.step();
        done.push_back(all.last_rows());
        for (const auto& part : all.last_rows())
          found.insert(found.end(), part.begin(), part.end());
        if (kept) { // a rank's are not side by side
          std::sort(found.begin(), found.end());
          std::sort(expected.begin(), expected.end());
        }
        ASSERT_EQ(found, expected);
      }
      ASSERT_EQ(position, rows);
      all.expect_each_row_drawn(1);
    }
    replay again(record);
    std::vector<std::vector<row_ref>> drawn;
    for (const auto& step : done) {
      ASSERT_FALSE(again.error()) << *again.error();
      again.walk(drawn);
      ASSERT_EQ(drawn, step);
    }
  }
}

/// `world` workers, all bytes with the first.
plan simple_plan(const ledger_config& how, size_t world, uint64_t number = 1) {
  plan out{plan_number{number}, generation{number}, {}};
  for (size_t rank = 0; rank < world; ++rank)
    out.shares.push_back({worker_id(uint32_t(rank + 1)),
                          plan_number{number},
                          1,
                          {},
                          uint32_t(rank)});
  for (uint32_t id = 0; id < how.chunk_rows.size(); ++id)
    out.shares[0].intervals.push_back({chunk_id{id}, 0, how.chunk_rows[id]});
  return out;
}

TEST(global_ledger, takes_follow_the_leaves_and_spares_take_nothing) {
  const ledger_config how = config(1, 16, {100}, 4);
  ledger book(how, simple_plan(how, 6));
  EXPECT_EQ(book.takes(), (std::vector<uint64_t>{4, 4, 4, 4, 0, 0}));
  EXPECT_EQ(book.parts_of(1), (std::vector<step_part>{{4, 4}}));
  EXPECT_EQ(book.parts_of(5).at(0).count, 0u);
  book.advance();
  EXPECT_EQ(book.parts_of(1), (std::vector<step_part>{{20, 4}}));
  plan uneven = simple_plan(how, 2, 2);
  uneven.shares[0].batch_weight = 3;
  ASSERT_EQ(book.switch_to(uneven), std::nullopt);
  EXPECT_EQ(book.takes(), (std::vector<uint64_t>{12, 4}));
  EXPECT_EQ(book.rows_left(0) + book.rows_left(1), 84u);
  while (!book.last_of_epoch())
    book.advance();
  EXPECT_EQ(book.takes(), (std::vector<uint64_t>{3, 1})) << "4 are left";
  book.advance();
  EXPECT_EQ(book.next(), (position{epoch_number{2}, step_number{8}}));
  EXPECT_EQ(book.takes(), (std::vector<uint64_t>{12, 4}));
}

TEST(global_ledger, starts_from_a_position_alone) {
  const ledger_config how = config(1, 16, {50, 50}, 4, 1);
  ledger book(how, simple_plan(how, 3));
  for (int i = 0; i < 9; ++i)
    book.advance();
  std::vector<worker_cursor> cursors;
  for (size_t rank = 0; rank < 3; ++rank) {
    cursors.push_back(book.cursor_of(rank));
    EXPECT_TRUE(cursors.back().cursors.empty());
    EXPECT_EQ(cursors.back().draws, 0u);
  }
  for (const std::vector<worker_cursor>& from :
       {cursors, std::vector<worker_cursor>{}}) {
    ASSERT_EQ(start_error(how, simple_plan(how, 3), book.next(), from),
              std::nullopt);
    const ledger joined(how, simple_plan(how, 3), book.next(), from);
    EXPECT_EQ(joined.takes(), book.takes());
    for (size_t rank = 0; rank < 3; ++rank) {
      std::vector<row_ref> mine, theirs;
      book.order_of(rank).draw(book.parts_of(rank), mine);
      joined.order_of(rank).draw(joined.parts_of(rank), theirs);
      EXPECT_EQ(mine, theirs);
    }
  }
}

TEST(global_ledger, refuses_what_is_of_another_order) {
  const ledger_config how = config(1, 16, {50, 50}, 4);
  const plan first = simple_plan(how, 2);
  ledger book(how, first);
  book.advance();
  std::vector<worker_cursor> cursors{book.cursor_of(0), book.cursor_of(1)};
  ledger_config other = how;
  other.leaves = 8;
  EXPECT_NE(start_error(other, first, book.next(), cursors)
                .value_or("")
                .find("number of leaves"),
            std::string::npos);
  other = how;
  other.seed = 2;
  EXPECT_TRUE(start_error(other, first, book.next(), cursors));
  EXPECT_TRUE(start_error(how, first, position{}, cursors));
  cursors[1].cursors = {3, 4};
  EXPECT_NE(start_error(how, first, book.next(), cursors)
                .value_or("")
                .find("order local"),
            std::string::npos);
  other = how;
  other.leaves = 3;
  EXPECT_EQ(start_error(other, first, position{}, {}),
            "a step is cut into 3 leaves; expected a power of two up to 1024");
}

TEST(global_ledger, shares_a_batch_by_leaves) {
  plan of = simple_plan(config(1, 16, {50, 50}, 8), 3);
  EXPECT_EQ(batch_parts(of, 8), (std::vector<uint64_t>{3, 3, 2}));
  EXPECT_EQ(batch_parts(of, 0), (std::vector<uint64_t>{1, 1, 1}));
}

TEST(global_ledger, lets_leaves_be_computed_where_they_are_for_one_step) {
  const ledger_config how = config(1, 16, chunks_of(100, 10), 4);
  plan after = simple_plan(how, 2, 2);
  after.kept = {step_number{2}, {{{2, 4}, {0, 1}}, {{1, 2}}}};
  ledger book(how, simple_plan(how, 3));
  book.advance();
  ASSERT_EQ(book.switch_to(after), std::nullopt);
  EXPECT_EQ(book.takes(), (std::vector<uint64_t>{12, 4}));
  EXPECT_EQ(book.parts_of(0), (std::vector<step_part>{{24, 8}, {16, 4}}));
  EXPECT_EQ(book.leaves(), after.kept.by_rank);
  const ledger joined(how, after, book.next(),
                      {book.cursor_of(0), book.cursor_of(1)});
  EXPECT_EQ(joined.takes(), book.takes());
  book.advance();
  EXPECT_EQ(book.takes(), (std::vector<uint64_t>{8, 8}));
  EXPECT_EQ(book.parts_of(0), (std::vector<step_part>{{32, 8}}));
  EXPECT_EQ(nlohmann::json(after).get<plan>(), after);
}

TEST(global_ledger, refuses_a_plan_that_keeps_other_leaves) {
  const ledger_config how = config(1, 16, chunks_of(100, 10), 4);
  plan after = simple_plan(how, 2, 2);
  after.kept = {step_number{2}, {{{2, 4}}, {{1, 2}}}};
  ledger book(how, simple_plan(how, 3));
  EXPECT_EQ(book.switch_to(after), "nobody computes 1 of 4 leaves");
  EXPECT_EQ(start_error(how, after, position{}, {}),
            "nobody computes 1 of 4 leaves");
  after.kept.by_rank = {{{0, 4}}};
  EXPECT_EQ(book.switch_to(after), "leaves are kept by 1 of 2 workers");
}

} // namespace
} // namespace ballast::ledger
