// Goal: every worker decides alike from the trailer alone. Method: W cores in
// lockstep, the reduced trailer is the plain sum of what they contribute.
#include "runtime/worker/worker_core.hpp"

#include "tests/runtime/ledger/ledger_fixture.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace ballast::worker {
namespace {

using testing::chunks_of;

constexpr uint64_t seed = 7;

/// W workers that hold equal parts of `rows` rows; steps them all at once.
class group {
public:
  group(size_t world, uint64_t rows, uint64_t batch, uint64_t epochs)
      : chunk_rows_(chunks_of(rows, 32)) {
    ledger::plan first = deal(plan_number{1}, world, 0);
    for (const ledger::share& one : first.shares)
      cores_.emplace_back(
          worker_core_config{{seed, batch, chunk_rows_}, one.worker, epochs},
          first, ledger::position{});
    orders_.resize(world);
    for (size_t w = 0; w < world; ++w)
      orders_[w] = cores_[w].draw();
  }

  /// Whole chunks dealt round robin, beginning at worker `shift`.
  ledger::plan deal(plan_number number, size_t world, size_t shift) const {
    ledger::plan out;
    out.number = number;
    out.generation = generation{1};
    for (size_t w = 0; w < world; ++w)
      out.shares.push_back({worker_id(w + 1), number, 0, {}, uint32_t(w)});
    for (uint32_t c = 0; c < chunk_rows_.size(); ++c) {
      ledger::share& owner = out.shares[(c + shift) % world];
      owner.intervals.push_back({chunk_id(c), 0, chunk_rows_[c]});
      owner.batch_weight += chunk_rows_[c];
    }
    return out;
  }

  /// One step of everybody; the same end for all.
  step_end step() {
    std::vector<std::optional<step_order>> following(cores_.size());
    trailer sums;
    for (size_t w = 0; w < cores_.size(); ++w) {
      EXPECT_TRUE(orders_[w].has_value());
      following[w] = cores_[w].draw();
      trailer mine = cores_[w].contribution(orders_[w]->rows.size(), 1.5);
      for (size_t i = 0; i < trailer::floats; ++i)
        sums.data()[i] += mine.data()[i];
      for (ledger::row_ref row : orders_[w]->rows)
        ++used_[{value(orders_[w]->at.epoch), row}];
    }
    std::vector<step_end> ends;
    for (size_t w = 0; w < cores_.size(); ++w) {
      EXPECT_FALSE(cores_[w].reduced(sums)) << cores_[w].reduced(sums).message;
      ends.push_back(cores_[w].applied());
    }
    for (size_t w = 1; w < ends.size(); ++w) {
      EXPECT_EQ(ends[w].finish, ends[0].finish);
      EXPECT_EQ(ends[w].pause, ends[0].pause);
      EXPECT_EQ(ends[w].plan_switched, ends[0].plan_switched);
      EXPECT_EQ(ends[w].evaluate, ends[0].evaluate);
      EXPECT_EQ(cores_[w].stands_at(), cores_[0].stands_at());
      EXPECT_EQ(cores_[w].current(), cores_[0].current());
    }
    orders_ = std::move(following);
    return ends[0];
  }

  uint64_t run() {
    uint64_t steps = 0;
    step_end end;
    do {
      end = step();
      ++steps;
    } while (!end.finish);
    return steps;
  }

  std::vector<worker_core>& cores() { return cores_; }
  const std::optional<step_order>& order(size_t w) { return orders_[w]; }
  uint64_t rows() const {
    uint64_t out = 0;
    for (uint32_t one : chunk_rows_)
      out += one;
    return out;
  }
  void expect_each_once(uint64_t epochs) const {
    EXPECT_EQ(used_.size(), rows() * epochs);
    for (const auto& [key, times] : used_)
      ASSERT_EQ(times, 1) << "epoch " << key.first << " chunk "
                          << to_string(key.second.chunk) << " row "
                          << key.second.row;
  }

private:
  std::vector<uint32_t> chunk_rows_;
  std::vector<worker_core> cores_;
  std::vector<std::optional<step_order>> orders_;
  std::map<std::pair<uint64_t, ledger::row_ref>, int> used_;
};

TEST(worker_core, uses_every_row_once_per_epoch_in_ceil_n_over_b_steps) {
  for (size_t world : {1, 2, 3, 5}) {
    group workers(world, 1009, 64, 3);
    EXPECT_EQ(workers.run(), 3 * ((1009 + 63) / 64)) << world << " workers";
    workers.expect_each_once(3);
  }
}

TEST(worker_core, switches_plans_after_the_step_that_follows_the_agreement) {
  group workers(3, 1009, 64, 2);
  workers.step();
  ledger::plan second = workers.deal(plan_number{2}, 3, 1);
  for (size_t w = 0; w < 2; ++w)
    EXPECT_FALSE(workers.cores()[w].install(second));
  // Two of three are ready: nothing happens, however long it takes.
  for (int i = 0; i < 4; ++i)
    EXPECT_FALSE(workers.step().plan_switched);
  EXPECT_FALSE(workers.cores()[2].install(second));
  // S: the lane is full. S+1: still the old plan, whose end switches.
  EXPECT_FALSE(workers.step().plan_switched);
  EXPECT_EQ(workers.cores()[0].current().number, plan_number{1});
  EXPECT_TRUE(workers.step().plan_switched);
  EXPECT_EQ(workers.cores()[0].current().number, plan_number{2});
  EXPECT_EQ(workers.order(0)->plan, plan_number{2});
  workers.run();
  workers.expect_each_once(2);
}

// A copy holds nothing that a worker has left out of compressed gradients, and
// neither does one that leaves, or a model.
TEST(worker_core, leaves_nothing_out_before_copies_pauses_and_the_end) {
  worker_core_config config{{seed, 10, chunks_of(100, 10)}, worker_id{1}, 1};
  config.compresses = true;
  ledger::plan only;
  only.number = plan_number{1};
  only.generation = generation{1};
  only.shares.push_back({worker_id{1}, only.number, 100, {}, 0});
  for (uint32_t c = 0; c < 10; ++c)
    only.shares[0].intervals.push_back({chunk_id(c), 0, 10});
  worker_core core(config, only, ledger::position{});
  std::vector<uint64_t> whole;
  std::vector<uint64_t> copied;
  for (uint64_t step = 1; step <= 10; ++step) {
    ASSERT_TRUE(core.draw());
    if (core.leaves_nothing_out())
      whole.push_back(step);
    EXPECT_EQ(core.copied_after(), step_number{step + 1});
    if (step == 5)
      core.request_pause();
    const bool wish = step == 2;
    ASSERT_FALSE(core.reduced(core.contribution(10, 1, {.asked = wish})));
    const step_end end = core.applied();
    if (end.copy)
      copied.push_back(step);
    if (end.pause)
      core.resume();
  }
  EXPECT_EQ(copied, (std::vector<uint64_t>{3}));
  EXPECT_EQ(whole, (std::vector<uint64_t>{3, 6, 10}));
}

TEST(worker_core, keeps_exactly_once_over_many_random_switches) {
  for (uint64_t round = 1; round <= 20; ++round) {
    SCOPED_TRACE("seed " + std::to_string(round));
    testing::test_random random(round);
    size_t world = random.between(1, 4);
    group workers(world, random.between(200, 900), random.between(7, 90), 3);
    uint64_t number = 1;
    bool pending = false;
    step_end end;
    do {
      if (!pending && random.one_in(3)) {
        ledger::plan offer =
            workers.deal(plan_number{++number}, world, random.below(world));
        for (worker_core& one : workers.cores())
          EXPECT_FALSE(one.install(offer));
        pending = true;
      }
      end = workers.step();
      pending = pending && !end.plan_switched;
    } while (!end.finish);
    workers.expect_each_once(3);
  }
}

TEST(worker_core, pauses_everybody_after_the_same_step_and_goes_on) {
  group workers(2, 500, 50, 1);
  workers.cores()[0].request_pause();
  EXPECT_FALSE(workers.step().pause) << "only one asked";
  workers.cores()[1].request_pause();
  EXPECT_FALSE(workers.step().pause) << "agreed, but a step is under way";
  EXPECT_TRUE(workers.step().pause);
  for (worker_core& one : workers.cores())
    one.resume();
  EXPECT_FALSE(workers.step().pause);
  workers.run();
  workers.expect_each_once(1);
}

TEST(worker_core, stops_everybody_after_the_same_step) {
  group workers(2, 500, 50, 4);
  for (worker_core& one : workers.cores())
    one.request_stop();
  EXPECT_FALSE(workers.step().finish);
  EXPECT_TRUE(workers.step().finish);
  EXPECT_TRUE(workers.cores()[0].stopped());
  EXPECT_FALSE(workers.order(0).has_value()) << "nothing is drawn any more";
}

TEST(worker_core, stops_only_after_a_switch_that_is_agreed_in_the_same_step) {
  group workers(2, 500, 50, 4);
  workers.step();
  ledger::plan second = workers.deal(plan_number{2}, 2, 1);
  for (worker_core& one : workers.cores()) {
    EXPECT_FALSE(one.install(second));
    one.request_stop();
  }
  EXPECT_FALSE(workers.step().plan_switched);
  step_end end = workers.step();
  EXPECT_TRUE(end.plan_switched);
  EXPECT_FALSE(end.finish) << "a newcomer of the switch knows of no stop";
  EXPECT_FALSE(workers.step().finish);
  EXPECT_TRUE(workers.step().finish);
}

TEST(worker_core, a_stop_in_the_last_step_is_an_ordinary_end) {
  group workers(2, 100, 50, 1);
  for (worker_core& one : workers.cores())
    one.request_stop();
  EXPECT_FALSE(workers.step().finish);
  EXPECT_TRUE(workers.step().finish);
  EXPECT_FALSE(workers.cores()[0].stopped());
}

TEST(worker_core, refuses_a_sum_that_is_not_the_steps_sample_count) {
  group workers(2, 100, 50, 1);
  worker_core& one = workers.cores()[0];
  trailer sums = one.contribution(25, 0);
  sums.set_samples(49);
  failure why = one.reduced(sums);
  EXPECT_EQ(why.code, errc::digest_mismatch);
  EXPECT_NE(why.message.find("step 1"), std::string::npos) << why.message;
}

TEST(worker_core, refuses_plans_of_an_older_generation_or_not_newer) {
  group workers(2, 100, 50, 1);
  worker_core& one = workers.cores()[0];
  ledger::plan stale = workers.deal(plan_number{2}, 2, 1);
  stale.generation = generation{0};
  EXPECT_EQ(one.install(stale).code, errc::stale_generation);
  EXPECT_EQ(one.install(workers.deal(plan_number{1}, 2, 1)).code,
            errc::bad_request);
  ledger::plan torn = workers.deal(plan_number{3}, 2, 1);
  torn.shares[0].intervals.pop_back();
  EXPECT_EQ(one.install(torn).code, errc::bad_request);
  // It claims that the intervals are those of plan 1, and they are not.
  ledger::plan untrue = workers.deal(plan_number{3}, 2, 1);
  for (ledger::share& part : untrue.shares)
    part.since = plan_number{1};
  EXPECT_EQ(one.install(untrue).code, errc::bad_request);
}

// Goal: whoever keeps rows in memory knows which are used next. Method: one
// worker; its latest list, through two epochs.
TEST(worker_core, says_in_which_order_a_window_uses_its_chunks) {
  const std::vector<uint32_t> chunk_rows(10, 32);
  ledger::plan all{
      plan_number{1}, generation{1}, {{worker_id{1}, plan_number{1}, 0, {}}}};
  for (uint32_t id = 0; id < chunk_rows.size(); ++id)
    all.shares[0].intervals.push_back({chunk_id{id}, 0, 32});
  all.shares[0].batch_weight = 320;
  worker_core core({{seed, 16, chunk_rows, 2}, worker_id{1}, 2}, all, {});
  std::vector<chunk_id> known;
  std::map<chunk_id, uint32_t> used; // of this epoch
  while (auto order = core.draw()) {
    if (order->upcoming)
      known = *order->upcoming;
    const bool last = value(order->at.epoch) == 2;
    ASSERT_EQ(std::set(known.begin(), known.end()).size(), known.size());
    if (!last) {
      EXPECT_EQ(known.size(), chunk_rows.size());
    }
    // No row comes from behind the window and what it takes in on the way.
    size_t passed = 0;
    for (const ledger::row_ref& row : order->rows)
      passed += ++used[row.chunk] == 32 ? 1 : 0;
    for (const ledger::row_ref& row : order->rows) {
      const auto turn = std::find(known.begin(), known.end(), row.chunk);
      EXPECT_LT(size_t(turn - known.begin()), 2 + passed);
    }
    trailer sums = core.contribution(order->rows.size(), 1);
    ASSERT_FALSE(core.reduced(sums));
    if (core.applied().evaluate)
      used.clear();
  }
  EXPECT_EQ(core.stands_at().step, step_number{41});
}

TEST(worker_core, says_nothing_of_an_order_of_chunks_without_a_window) {
  ledger::plan all{plan_number{1},
                   generation{1},
                   {{worker_id{1}, plan_number{1}, 0, {{chunk_id{0}, 0, 32}}}}};
  all.shares[0].batch_weight = 32;
  worker_core core({{seed, 16, {32}}, worker_id{1}, 2}, all, {});
  EXPECT_EQ(core.draw()->upcoming, nullptr);
}

// -- order global
// --------------------------------------------------------------

ledger::ledger_config global_rows(uint32_t window = 0) {
  ledger::ledger_config out{seed, 16, std::vector<uint32_t>(10, 32), window};
  out.leaves = 4;
  return out;
}

/// Chunks are dealt by turns.
ledger::plan plan_for(size_t world, uint64_t number = 1) {
  ledger::plan out{plan_number{number}, generation{1}, {}};
  for (uint32_t w = 0; w < world; ++w)
    out.shares.push_back({worker_id{w + 1}, plan_number{number}, 1, {}, w});
  for (uint32_t id = 0; id < 10; ++id)
    out.shares[id % world].intervals.push_back({chunk_id{id}, 0, 32});
  return out;
}

/// Runs `world` cores to their end; the rows of each step, rank after rank.
/// `other`: a plan that is offered at once.
std::vector<std::vector<ledger::row_ref>>
steps_of(size_t world, const std::optional<ledger::plan>& other = {}) {
  std::vector<worker_core> cores;
  for (uint32_t w = 0; w < world; ++w)
    cores.emplace_back(worker_core_config{global_rows(), worker_id{w + 1}, 2},
                       plan_for(world), ledger::position{});
  std::vector<std::vector<ledger::row_ref>> out;
  std::vector<std::optional<step_order>> orders(world);
  for (size_t w = 0; w < world; ++w) {
    orders[w] = cores[w].draw();
    if (other)
      EXPECT_FALSE(cores[w].install(*other));
  }
  while (orders[0]) {
    trailer sums;
    out.emplace_back();
    std::vector<std::optional<step_order>> following(world);
    for (size_t w = 0; w < world; ++w) {
      following[w] = cores[w].draw();
      const trailer mine = cores[w].contribution(orders[w]->rows.size(), 1);
      for (size_t i = 0; i < trailer::floats; ++i)
        sums.data()[i] += worker::trailer(mine).data()[i];
      out.back().insert(out.back().end(), orders[w]->rows.begin(),
                        orders[w]->rows.end());
    }
    for (worker_core& one : cores) {
      EXPECT_FALSE(one.reduced(sums)) << one.reduced(sums).message;
      one.applied();
    }
    orders = std::move(following);
  }
  return out;
}

TEST(worker_core, does_the_same_steps_of_order_global_with_any_workers) {
  const auto alone = steps_of(1);
  ASSERT_EQ(alone.size(), 40u);
  for (size_t world : {2, 3, 4, 6}) // of six, two are spares
    EXPECT_EQ(steps_of(world), alone) << world;
}

TEST(worker_core, keeps_the_order_over_a_change_of_weights_alone) {
  ledger::plan uneven = plan_for(3, 2);
  for (ledger::share& one : uneven.shares)
    one.since = plan_number{1};
  uneven.shares[2].batch_weight = 9;
  EXPECT_EQ(steps_of(3, uneven), steps_of(1));
}

TEST(worker_core, gives_a_spare_steps_without_rows) {
  worker_core spare({global_rows(), worker_id{6}, 1}, plan_for(6), {});
  const auto order = spare.draw();
  ASSERT_TRUE(order);
  EXPECT_TRUE(order->rows.empty());
  EXPECT_EQ(order->samples, 16u);
  ASSERT_EQ(order->leaves.size(), 6u);
  EXPECT_EQ(order->leaves[3], (ledger::leaf_ranges{{3, 4}}));
  EXPECT_EQ(count(order->leaves[5].at(0)), 0u);
}

TEST(worker_core, draws_the_rows_of_a_leaf_that_it_computes_again) {
  constexpr size_t world = 3;
  std::vector<worker_core> cores;
  std::vector<step_order> orders;
  for (uint32_t w = 0; w < world; ++w) {
    cores.emplace_back(
        worker_core_config{global_rows(), worker_id{w + 1}, 2, 2},
        plan_for(world), ledger::position{});
    const auto first = cores.back().draw();
    EXPECT_TRUE(first->checks.empty()) << "only each second step is checked";
    EXPECT_TRUE(first->checked_rows.empty());
    orders.push_back(*cores.back().draw());
    cores.back().contribution(16, 1);
    cores.back().applied();
  }
  ASSERT_EQ(orders[0].checks.size(), world);
  for (const ledger::spot_check& one : orders[0].checks) {
    const step_order& owner = orders[one.owner];
    const ledger::leaf_range range = owner.leaves[one.owner].at(0);
    ASSERT_TRUE(range.begin <= one.leaf && one.leaf < range.end);
    const auto begin = owner.rows.begin() + 4 * (one.leaf - range.begin);
    const std::vector<ledger::row_ref> rows(begin, begin + 4);
    EXPECT_EQ(orders[one.checker].checked_rows, rows);
    for (const worker_core& any : cores)
      EXPECT_EQ(any.rows_of_leaf(one.leaf), rows);
  }
}

TEST(worker_core, names_its_own_chunks_first_and_then_all_others) {
  worker_core core({global_rows(), worker_id{2}, 2}, plan_for(4), {});
  auto order = core.draw();
  ASSERT_TRUE(order && order->upcoming);
  ASSERT_EQ(order->upcoming->size(), 10u);
  EXPECT_EQ(std::vector<chunk_id>(order->upcoming->begin(),
                                  order->upcoming->begin() + 3),
            (std::vector<chunk_id>{chunk_id{1}, chunk_id{5}, chunk_id{9}}));
  EXPECT_EQ(core.draw()->upcoming, nullptr) << "nothing has changed";
}

TEST(worker_core, names_the_chunks_of_a_window_by_their_turn) {
  worker_core core({global_rows(3), worker_id{1}, 2}, plan_for(1), {});
  std::vector<chunk_id> known;
  size_t told = 0;
  while (auto order = core.draw()) {
    if (order->upcoming) {
      known = *order->upcoming;
      ++told;
    }
    ASSERT_EQ(std::set(known.begin(), known.end()).size(), known.size());
    if (value(order->at.epoch) == 1) {
      EXPECT_EQ(known.size(), 10u);
    }
    for (const ledger::row_ref& row : order->rows) {
      const auto turn = std::find(known.begin(), known.end(), row.chunk);
      EXPECT_LT(turn - known.begin(), 6) << "this window, or the next";
    }
    trailer sums = core.contribution(order->rows.size(), 1);
    ASSERT_FALSE(core.reduced(sums));
    core.applied();
  }
  EXPECT_EQ(told, 8u) << "four windows in each epoch";
}

} // namespace
} // namespace ballast::worker
