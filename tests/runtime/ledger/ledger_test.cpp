#include "runtime/ledger/ledger.hpp"
#include "tests/runtime/ledger/ledger_fixture.hpp"

namespace ballast::ledger {
namespace {

using namespace ballast::testing;

ledger_config config(uint64_t seed, uint64_t batch,
                     std::vector<uint32_t> chunk_rows) {
  return {seed, batch, std::move(chunk_rows)};
}

uint64_t sum(const std::vector<uint64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), uint64_t{0});
}

/// The shape of a random run, from small to some thousand rows.
struct random_run {
  explicit random_run(uint64_t seed) : random(seed) {
    rows = random.between(1, random.one_in(3) ? 30 : 3000);
    world = random.between(1, 7);
    setup = config(seed, random.between(1, rows + rows / 4 + 1),
                   chunks_of(rows, uint32_t(random.between(1, 300))));
    setup.window_chunks = seed % 2 == 0 ? 0 : 1 + uint32_t(seed / 2 % 5);
    for (size_t i = 0; i < world; ++i)
      shares.push_back(random.between(1, 5));
    first = another(plan_number{1}, workers_named(world));
  }
  plan another(plan_number number, const std::vector<worker_id>& workers) {
    return deal_pieces(cut_chunks(setup.chunk_rows, 4, random), workers, shares,
                       number, random);
  }
  /// The pieces of `p`, some of them cut in two, dealt out anew to `workers`;
  /// who keeps exactly what he had keeps his share.
  plan cut_and_moved(const plan& p, plan_number number,
                     const std::vector<worker_id>& workers) {
    plan out{number, generation{value(number)}, {}};
    for (worker_id worker : workers)
      out.shares.push_back({worker,
                            number,
                            random.below(1000),
                            {},
                            uint32_t(out.shares.size())});
    for (const share& part : p.shares)
      for (const interval& piece : part.intervals) {
        auto cut = uint32_t(random.between(piece.begin, piece.end));
        bool stays = !random.one_in(4);
        for (interval half : {interval{piece.chunk, piece.begin, cut},
                              interval{piece.chunk, cut, piece.end}}) {
          size_t to = random.below(workers.size());
          for (size_t rank = 0; stays && rank < workers.size(); ++rank)
            if (workers[rank] == part.worker)
              to = rank;
          if (half.begin < half.end)
            out.shares[to].intervals.push_back(half);
        }
      }
    for (share& part : out.shares)
      sort_intervals(part);
    return out;
  }

  test_random random;
  uint64_t rows = 0;
  size_t world = 1;
  ledger_config setup;
  std::vector<uint64_t> shares;
  plan first;
};

TEST(ledger, draws_every_row_exactly_once_in_every_epoch) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_run run(seed);
    simulated_ranks all(run.setup, run.first);
    uint64_t batch = run.setup.global_batch;
    uint64_t steps = (run.rows + batch - 1) / batch;
    ASSERT_EQ(all.book().steps_per_epoch(), steps);
    for (uint64_t epoch = 1; epoch <= 3; ++epoch) {
      all.clear();
      for (uint64_t step = 1; step <= steps; ++step) {
        position expected{epoch_number{epoch},
                          step_number{(epoch - 1) * steps + step}};
        ASSERT_EQ(all.book().next(), expected);
        ASSERT_EQ(all.book().last_of_epoch(), step == steps);
        ASSERT_EQ(sum(all.book().takes()),
                  std::min(batch, run.rows - (step - 1) * batch));
        ASSERT_EQ(all.step(), step == steps);
      }
      all.expect_each_row_drawn(1);
    }
  }
}

TEST(ledger, draws_exactly_once_for_ten_thousand_and_seven_rows) {
  const std::vector<std::vector<uint64_t>> worlds{
      {1}, {1, 1}, {1, 1, 1}, {5, 2, 1}};
  for (const std::vector<uint64_t>& shares : worlds) {
    test_random random(shares.size());
    auto chunks = chunks_of(10007, 256);
    plan first =
        deal_pieces(cut_chunks(chunks, 1, random), workers_named(shares.size()),
                    shares, plan_number{1}, random);
    simulated_ranks all(config(1, 96, chunks), first);
    for (uint64_t step = 1; step <= 105; ++step)
      ASSERT_EQ(all.step(), step == 105);
    all.expect_each_row_drawn(1);
  }
}

TEST(ledger, stays_exactly_once_when_plans_cut_and_move_within_an_epoch) {
  // Workers come and go and intervals are cut anywhere, at any step; also
  // several plans before the same step.
  uint64_t switches = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_run run(seed);
    simulated_ranks all(run.setup, run.first);
    uint64_t steps = all.book().steps_per_epoch(), number = 1;
    for (uint64_t epoch = 1; epoch <= 3; ++epoch) {
      all.clear();
      uint64_t step = 0;
      do {
        while (run.random.one_in(5)) {
          std::vector<worker_id> workers = workers_named(
              run.random.between(1, 6), uint32_t(run.random.between(1, 4)));
          plan p = run.cut_and_moved(all.book().current(),
                                     plan_number{++number}, workers);
          auto refused = all.switch_to(p);
          ASSERT_FALSE(refused) << *refused;
          ++switches;
        }
        ++step;
      } while (!all.step());
      ASSERT_EQ(step, steps);
      all.expect_each_row_drawn(1);
    }
  }
  EXPECT_GT(switches, 1000U);
}

TEST(ledger, every_process_computes_the_same_from_any_snapshot) {
  // One ledger goes on from the start; others are made at random steps from
  // the cursors that each rank reported. All agree, also across an epoch.
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_run run(seed);
    ledger first(run.setup, run.first);
    std::optional<ledger> joined;
    for (uint64_t step = 1; step <= 2 * first.steps_per_epoch(); ++step) {
      if (run.random.one_in(4)) {
        std::vector<worker_cursor> cursors;
        for (size_t rank = 0; rank < run.world; ++rank)
          cursors.push_back(first.cursor_of(rank));
        joined.emplace(run.setup, first.current(), first.next(), cursors);
      }
      if (joined) {
        size_t rank = run.random.below(run.world);
        ASSERT_EQ(joined->next(), first.next());
        ASSERT_EQ(joined->takes(), first.takes());
        ASSERT_EQ(joined->cursor_of(rank), first.cursor_of(rank));
        joined->advance();
      }
      first.advance();
    }
  }
}

TEST(ledger, cursor_is_that_of_a_worker_who_drew) {
  random_run run(11);
  simulated_ranks all(run.setup, run.first);
  sequence own = all.book().sequence_of(0);
  std::vector<row_ref> rows;
  for (int step = 0; step < 3 && !all.book().last_of_epoch(); ++step) {
    own.draw(all.book().takes()[0], rows);
    all.step();
  }
  EXPECT_EQ(all.book().cursor_of(0).cursors, own.cursors());
  EXPECT_EQ(all.book().cursor_of(0).digest, own.digest());
  EXPECT_EQ(all.book().cursor_of(0).draws, own.draws());
}

TEST(ledger, plan_that_changes_only_weights_leaves_sequences_alone) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_run run(seed);
    simulated_ranks all(run.setup, run.first);
    uint64_t steps = all.book().steps_per_epoch();
    std::vector<std::vector<row_ref>> expected(run.world), got(run.world);
    for (size_t rank = 0; rank < run.world; ++rank) {
      sequence whole = all.book().sequence_of(rank);
      whole.draw(whole.rows_left(), expected[rank]);
    }
    plan p = run.first;
    for (uint64_t step = 0; step < steps; ++step) {
      if (run.random.one_in(2)) {
        p.number = next(p.number);
        // Ranks may change places too: a rank is only a place in the plan.
        std::rotate(p.shares.begin(), p.shares.begin() + 1, p.shares.end());
        for (share& part : p.shares)
          part.batch_weight = run.random.below(50);
        auto refused = all.switch_to(p);
        ASSERT_FALSE(refused) << *refused;
      }
      std::vector<worker_id> workers;
      for (const share& part : all.book().current().shares)
        workers.push_back(part.worker);
      all.step();
      for (size_t rank = 0; rank < run.world; ++rank) {
        auto& drawn = got[value(workers[rank]) - 1];
        const auto& rows = all.last_rows()[rank];
        drawn.insert(drawn.end(), rows.begin(), rows.end());
      }
    }
    ASSERT_EQ(got, expected);
  }
}

TEST(ledger, worker_whose_share_stays_draws_on_while_others_change) {
  auto chunks = chunks_of(600, 50);
  test_random random(3);
  plan first = deal_pieces(cut_chunks(chunks, 1, random), workers_named(3),
                           {1, 1, 1}, plan_number{1}, random);
  simulated_ranks all(config(1, 60, chunks), first);
  for (int step = 0; step < 4; ++step)
    all.step();
  worker_cursor before = all.book().cursor_of(1);
  plan p = first;
  p.number = plan_number{2};
  std::swap(p.shares[0].intervals, p.shares[2].intervals);
  p.shares[0].since = p.shares[2].since = p.number;
  ASSERT_FALSE(all.switch_to(p));
  EXPECT_EQ(all.book().cursor_of(1), before);
  EXPECT_EQ(all.book().cursor_of(0).draws, 0U);
  EXPECT_EQ(all.book().rows_left(0) + all.book().rows_left(1) +
                all.book().rows_left(2),
            600U - 4 * 60);
}

TEST(ledger, cut_interval_carries_its_cursor_into_both_parts) {
  // One worker, one chunk of 100 rows, 30 consumed.
  plan p{plan_number{1},
         generation{1},
         {{worker_id{1}, plan_number{1}, 1, {{chunk_id{0}, 0, 100}}}}};
  for (uint32_t cut : {10U, 30U, 70U}) {
    ledger book(config(1, 30, {100}), p);
    book.advance();
    plan two{plan_number{2},
             generation{1},
             {{worker_id{1}, plan_number{2}, 1, {{chunk_id{0}, 0, cut}}},
              {worker_id{2}, plan_number{2}, 1, {{chunk_id{0}, cut, 100}}, 1}}};
    ASSERT_FALSE(book.switch_to(two));
    uint32_t low = std::min(cut, 30U);
    EXPECT_EQ(book.cursor_of(0).cursors, std::vector<uint32_t>{low});
    EXPECT_EQ(book.cursor_of(1).cursors, std::vector<uint32_t>{30 - low});
  }
}

TEST(ledger, joins_parts_only_where_an_epoch_begins) {
  share cut{worker_id{1},
            plan_number{1},
            1,
            {{chunk_id{0}, 0, 50}, {chunk_id{0}, 50, 100}}};
  plan p{plan_number{1}, generation{1}, {cut}};
  plan whole{plan_number{2},
             generation{1},
             {{worker_id{1}, plan_number{2}, 1, {{chunk_id{0}, 0, 100}}}}};
  ledger book(config(1, 30, {100}), p);
  book.advance();
  ledger before = book;
  auto refused = book.switch_to(whole);
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->find("joined"), std::string::npos) << *refused;
  // A refused plan changes nothing.
  EXPECT_EQ(book.current(), p);
  EXPECT_EQ(book.cursor_of(0), before.cursor_of(0));
  EXPECT_EQ(book.takes(), before.takes());
  while (book.next().epoch == epoch_number{1})
    book.advance();
  EXPECT_FALSE(book.switch_to(whole));
  EXPECT_EQ(book.rows_left(0), 100U);
}

TEST(ledger, prepares_a_switch_and_changes_nothing) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_run run(seed);
    ledger plain(run.setup, run.first);
    ledger prepared = plain;
    for (uint64_t number = 2; number < 5; ++number) {
      for (uint64_t steps = run.random.below(6); steps > 0; --steps) {
        if (run.random.one_in(2))
          prepared.prepare_switch(run.random.below(40));
        plain.advance();
        prepared.advance();
      }
      prepared.prepare_switch();
      const plan p = run.cut_and_moved(plain.current(), plan_number{number},
                                       workers_named(run.world));
      ASSERT_EQ(prepared.switch_to(p), plain.switch_to(p));
      for (size_t rank = 0; rank < run.world; ++rank)
        ASSERT_EQ(prepared.cursor_of(rank), plain.cursor_of(rank));
    }
  }
}

TEST(ledger, refuses_plans_that_cannot_follow) {
  auto chunks = chunks_of(100, 50);
  share both{worker_id{1},
             plan_number{1},
             1,
             {{chunk_id{0}, 0, 50}, {chunk_id{1}, 0, 50}}};
  plan p{plan_number{5}, generation{3}, {both}};
  ledger book(config(1, 10, chunks), p);
  auto reason = [&](auto change) {
    plan after = p;
    after.number = plan_number{6};
    change(after);
    return book.switch_to(after).value_or("accepted");
  };
  EXPECT_EQ(reason([](plan& a) { a.number = plan_number{5}; }),
            "plan 5 is not newer than plan 5");
  EXPECT_EQ(reason([](plan& a) { a.generation = generation{2}; }),
            "generation 2 is older than 3");
  EXPECT_EQ(reason([](plan& a) { a.shares[0].intervals.pop_back(); }),
            "nobody owns [0, 50) of chunk 1");
  EXPECT_EQ(reason([](plan& a) { a.shares[0].worker = worker_id{2}; }),
            "worker 2 has its intervals since plan 1 by plan 6, but not under "
            "plan 5");
  EXPECT_EQ(reason([](plan& a) { a.shares[0].since = plan_number{2}; }),
            "worker 1 has its intervals since plan 2 by plan 6, but not under "
            "plan 5");
  EXPECT_EQ(reason([](plan& a) { a.shares[0].stream = 7; }),
            "worker 1 has its intervals since plan 1 by plan 6, but not under "
            "plan 5");
  EXPECT_EQ(reason([](plan&) {}), "accepted");
}

TEST(ledger, start_error_names_what_does_not_fit) {
  auto chunks = chunks_of(100, 50);
  ledger_config setup = config(1, 30, chunks);
  plan p{plan_number{1},
         generation{1},
         {{worker_id{1}, plan_number{1}, 1, {{chunk_id{0}, 0, 50}}},
          {worker_id{2}, plan_number{1}, 1, {{chunk_id{1}, 0, 50}}, 1}}};
  auto at = [](uint64_t epoch, uint64_t step) {
    return position{epoch_number{epoch}, step_number{step}};
  };
  auto reason = [&](position where, std::vector<worker_cursor> cursors) {
    return start_error(setup, p, where, cursors).value_or("fits");
  };
  worker_cursor one{worker_id{1}, 20, {20}, 0}, two{worker_id{2}, 10, {10}, 0};
  EXPECT_EQ(reason(at(1, 1), {}), "fits");
  EXPECT_EQ(reason(at(2, 5), {}), "fits");
  EXPECT_EQ(reason(at(1, 2), {one, two}), "fits");
  EXPECT_EQ(reason(at(1, 5), {}),
            "step 5 is not in epoch 1, which has 4 steps");
  EXPECT_EQ(reason(at(1, 2), {}),
            "the cursors say that 0 rows are consumed before step 2, but the "
            "steps of the epoch consumed 30");
  EXPECT_EQ(reason(at(1, 2), {one}), "1 cursors for 2 workers");
  EXPECT_EQ(reason(at(1, 2), {two, one}),
            "worker 1: the cursors are those of worker 2");
  worker_cursor far{worker_id{1}, 20, {51}, 0};
  EXPECT_EQ(reason(at(1, 2), {far, two}),
            "worker 1: cursor 51 of interval 0 is past its end");
  worker_cursor many{worker_id{1}, 21, {20}, 0};
  EXPECT_EQ(reason(at(1, 2), {many, two}),
            "worker 1: 21 draws, but only 20 rows consumed");
  setup.global_batch = 0;
  EXPECT_EQ(reason(at(1, 1), {}), "the global batch is 0");
  EXPECT_DEATH(ledger(setup, p), "global batch is 0");
}

TEST(ledger, copies_look_ahead_and_go_back) {
  random_run run(17);
  ledger book(run.setup, run.first);
  ledger ahead = book;
  std::vector<std::vector<uint64_t>> expected;
  for (int i = 0; i < 10; ++i) {
    ahead.cursor_of(0);
    expected.push_back(ahead.takes());
    ahead.advance();
  }
  EXPECT_EQ(book.next(), position{});
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(book.takes(), expected[size_t(i)]);
    book.advance();
  }
  EXPECT_EQ(book.cursor_of(0), ahead.cursor_of(0));
}

} // namespace
} // namespace ballast::ledger
