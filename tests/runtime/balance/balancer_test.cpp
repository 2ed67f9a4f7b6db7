// Goal: the balancer acts when it pays, at once when the change is plain, and
// not at all on noise. Method: a small world in which workers take as long as
// they are told to, seen through the same views that a coordinator sends.
#include "runtime/balance/balancer.hpp"
#include "runtime/balance/explain.hpp"
#include "runtime/balance/weighed.hpp"
#include "runtime/placement/placement.hpp"

#include "tests/runtime/ledger/ledger_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace ballast::balance {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint32_t chunk_rows = 256;

/// Chunks of one class each, `chunks` for each class.
ledger::manifest pure_chunks(uint32_t classes, uint32_t chunks) {
  ledger::manifest out;
  out.row.classes = classes;
  for (uint32_t label = 0; label < classes; ++label)
    for (uint32_t i = 0; i < chunks; ++i) {
      ledger::chunk_info one;
      one.id = chunk_id(uint32_t(out.train.size()));
      one.rows = chunk_rows;
      one.bytes = chunk_rows * 784;
      one.label_histogram.assign(classes, 0);
      one.label_histogram[label] = chunk_rows;
      out.train.push_back(one);
      out.train_rows += chunk_rows;
    }
  return out;
}

/// A run that does what it is told, one view after the other.
class world {
public:
  /// Chunk i belongs to worker i mod `workers`, or, if `sorted`, the first
  /// chunks to the first worker.
  world(uint32_t workers, bool sorted = false, uint64_t seed = 1,
        double skew_tv = 0.05)
      : random_(seed),
        set_(std::make_shared<ledger::manifest>(pure_chunks(10, 24))),
        planner(policy(skew_tv), set_) {
    now_.number = plan_number{1};
    now_.generation = generation{1};
    for (uint32_t rank = 0; rank < workers; ++rank)
      now_.shares.push_back({worker_id{rank + 1}, plan_number{1}, 0, {}, rank});
    auto count = uint32_t(set_->train.size());
    for (uint32_t i = 0; i < count; ++i) {
      ledger::share& owner =
          now_.shares[sorted ? i * workers / count : i % workers];
      owner.intervals.push_back({chunk_id(i), 0, chunk_rows});
      owner.batch_weight += chunk_rows;
    }
    row_s.assign(workers, 1e-4);
  }

  static balance_policy policy(double skew_tv = 0.05) {
    balance_policy out;
    out.global_batch = batch;
    out.skew_tv = skew_tv;
    return out;
  }

  /// The first two workers, before the first look.
  void exchange_chunks(size_t of_first, size_t of_second) {
    std::swap(now_.shares[0].intervals.own()[of_first].chunk,
              now_.shares[1].intervals.own()[of_second].chunk);
  }

  /// From the second worker to the first, before the first look; both take as
  /// much of a batch as before.
  void give_chunks(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      now_.shares[0].intervals.push_back(now_.shares[1].intervals.back());
      now_.shares[1].intervals.pop_back();
    }
  }

  /// `steps` steps, then what the balancer says to them; what it wants is done.
  balance_answer look(uint32_t steps = 3) {
    load_view view;
    view.generation = now_.generation;
    view.number = now_.number;
    if (std::exchange(seen_, now_.number) != now_.number)
      view.changed = now_;
    view.steps_per_epoch = set_->train_rows / batch;
    view.steps_left = steps_left;
    view.steps_left_in_epoch = left_in_epoch.value_or(view.steps_per_epoch);
    const uint64_t part = view.steps_left_in_epoch * batch / row_s.size();
    std::vector<double> weights;
    for (const ledger::share& one : now_.shares)
      weights.push_back(double(one.batch_weight));
    std::vector<uint64_t> takes = placement::split_by_shares(batch, weights);
    view.workers.resize(takes.size());
    for (uint32_t i = 0; i < steps; ++i) {
      double longest = 0;
      for (size_t rank = 0; rank < takes.size(); ++rank) {
        double noisy = fixed_s + row_s[rank] * double(takes[rank]);
        noisy *= 1 + noise * window_noise(rank);
        longest = std::max(longest, noisy);
        if (measured)
          view.workers[rank].costs.push_back(
              {uint32_t(takes[rank]), uint64_t(noisy * 1e9),
               uint64_t(rank == crowded ? noisy * 0.75 * 1e9 : 0)});
      }
      view.step_us.push_back(uint64_t(longest * 1e6));
      now_us_ += uint64_t(longest * 1e6);
      last_step_s = longest;
    }
    view.now_ms = 1000 + now_us_ / 1000;
    for (size_t rank = 0; rank < takes.size(); ++rank) {
      view.workers[rank].worker = now_.shares[rank].worker;
      view.workers[rank].name = "w" + std::to_string(rank + 1);
      view.workers[rank].rows_left = !left_in_epoch
                                         ? rows(now_.shares[rank])
                                         : part * (rank == late ? 3 : 1);
      if (rank == ill)
        view.workers[rank].device_trouble =
            "cuda:0: slowed down by heat, for 3 s";
      view.workers[rank].store_free_bytes = rank == full ? 0 : free_bytes;
    }
    view.last = std::exchange(last_, transfer_end::none);
    balance_answer answer = planner.observe(view);
    if (answer.state.code == balance_code::planned && obeys)
      obey(answer.proposal);
    return answer;
  }

  /// Looks until something is planned; how many steps that took.
  uint32_t steps_until_planned(uint32_t most = 100) {
    for (uint32_t steps = 1; steps <= most; ++steps)
      if (look(1).state.code == balance_code::planned)
        return steps;
    return UINT32_MAX;
  }

  std::string reason_of_next_plan() {
    steps_until_planned();
    return last_reason_;
  }

  uint64_t plans_in(uint32_t looks) {
    uint64_t before = plans;
    for (uint32_t i = 0; i < looks; ++i)
      look();
    return plans - before;
  }

  double skew() const {
    std::vector<double> all = skews(count_labels(*set_, now_));
    return *std::max_element(all.begin(), all.end());
  }
  double ideal_step_s() const {
    double rate = 0;
    for (double one : row_s)
      rate += 1 / one;
    return double(batch) / rate;
  }
  const ledger::plan& now() const { return now_; }
  const ledger::manifest& set() const { return *set_; }

  static constexpr uint64_t batch = 256;
  std::vector<double> row_s; // by rank
  double fixed_s = 0;
  double noise = 0;
  bool obeys = true;
  bool measured = true;
  uint64_t free_bytes = UINT64_MAX;
  size_t full = SIZE_MAX;                // this rank has no room left
  size_t ill = SIZE_MAX;                 // the device of this rank
  size_t crowded = SIZE_MAX;             // others have its core
  std::optional<uint64_t> left_in_epoch; // steps; nothing: all of them
  uint64_t steps_left = 10'000;          // of the run
  size_t late = SIZE_MAX; // this rank then has three times its part left
  double last_step_s = 0;
  uint64_t plans = 0;
  uint64_t moved_rows = 0;
  std::map<chunk_id, uint32_t> moves; // of each chunk
  std::set<size_t> takers;            // who ever got one

private:
  ballast::testing::test_random random_;
  std::shared_ptr<ledger::manifest> set_;

public:
  balancer planner;

private:
  /// About normal, the same for a whole window: the worst kind of noise.
  double window_noise(size_t rank) {
    uint64_t window = now_us_ / 250'000;
    if (noise_.size() <= rank)
      noise_.resize(rank + 1);
    if (noise_[rank].first != window + 1) {
      double sum = 0;
      for (int i = 0; i < 12; ++i)
        sum += double(random_.below(1'000'001)) / 1e6;
      noise_[rank] = {window + 1, sum - 6};
    }
    return noise_[rank].second;
  }

  void obey(const balance_proposal& what) {
    ++plans;
    last_reason_ = what.reason;
    moved_rows += what.moved_rows;
    for (const shard_move& one : what.moves) {
      ++moves[one.what.chunk];
      takers.insert(one.to);
    }
    now_ = moved_plan(now_, what.moves, next(now_.number), what.weights);
    last_ = transfer_end::effective;
  }

  ledger::plan now_;
  plan_number seen_{};
  uint64_t now_us_ = 0;
  std::string last_reason_;
  transfer_end last_ = transfer_end::none;
  std::vector<std::pair<uint64_t, double>> noise_;
};

TEST(balancer, leaves_a_balanced_run_alone) {
  world w(4);
  EXPECT_EQ(w.plans_in(200), 0u);
  EXPECT_EQ(w.planner.state().code, balance_code::at_optimum);
}

TEST(balancer, does_not_call_a_skew_over_its_budget_an_optimum) {
  world w(4, false, 1, 0.005);
  w.exchange_chunks(0, 30); // of another class
  EXPECT_EQ(w.plans_in(200), 0u);
  const balance_state& now = w.planner.state();
  EXPECT_GT(now.skew_max, 0.005);
  EXPECT_EQ(now.code, balance_code::below_trigger);
  EXPECT_THAT(sentence(w.planner), HasSubstr("is over the budget of 0.5 %"));
}

TEST(balancer, does_not_call_sizes_an_optimum_that_are_only_near_enough) {
  world w(4);
  w.give_chunks(2); // 62 of 60
  EXPECT_EQ(w.plans_in(200), 0u);
  EXPECT_EQ(w.planner.state().code, balance_code::below_trigger);
  EXPECT_EQ(sentence(w.planner), "one owns 3.3 % more than its part, but rows "
                                 "move from 5.0 % on");
  world nearer(4);
  nearer.give_chunks(1);
  EXPECT_EQ(nearer.plans_in(200), 0u);
  EXPECT_EQ(nearer.planner.state().code, balance_code::at_optimum);
  EXPECT_EQ(sentence(nearer.planner),
            "nothing is worth a move: one owns 1.7 % more than its part, and "
            "up to 2.0 % is good enough");
}

TEST(balancer, says_that_it_did_not_look_yet_with_a_new_budget) {
  world w(4);
  w.plans_in(50);
  ASSERT_EQ(w.planner.state().code, balance_code::at_optimum);
  w.planner.set_policy(world::policy(0));
  EXPECT_EQ(w.planner.state().code, balance_code::undecided);
  EXPECT_EQ(explain_worker(w.planner, 0)["reason"],
            "not looked at yet with the present settings");
  EXPECT_EQ(explain_plan(w.planner)["code"], "UNDECIDED");
  w.look();
  EXPECT_EQ(w.planner.state().code, balance_code::at_optimum);
}

TEST(balancer, follows_a_slow_worker_within_a_few_steps) {
  world w(4);
  w.plans_in(50);
  w.row_s[1] *= 4;
  EXPECT_LE(w.steps_until_planned(), 5u);
  w.plans_in(5);
  EXPECT_LE(w.last_step_s, 1.03 * w.ideal_step_s());
  uint64_t slow = rows(w.now().shares[1]);
  EXPECT_NEAR(double(slow), double(w.set().train_rows) / 13,
              double(chunk_rows) / 2)
      << "its data follow";
}

TEST(balancer, lets_rows_follow_after_a_few_takes_that_agree) {
  for (uint32_t steps_before = 0; steps_before < 10; ++steps_before) {
    world w(4);
    w.plans_in(50);
    for (uint32_t i = 0; i < steps_before; ++i)
      w.look(1);
    w.row_s[1] *= 4;
    w.steps_until_planned(); // the batch
    EXPECT_EQ(w.moved_rows, 0u);
    EXPECT_LE(w.steps_until_planned(), 4u) << "not at the end of the window";
    EXPECT_GT(w.moved_rows, 0u);
  }
}

TEST(balancer, comes_back_when_the_slow_worker_recovers) {
  world w(4);
  w.plans_in(50);
  w.row_s[1] *= 4;
  w.plans_in(100);
  w.row_s[1] /= 4;
  EXPECT_LE(w.steps_until_planned(), 5u);
  w.plans_in(20);
  EXPECT_LE(w.last_step_s, 1.03 * w.ideal_step_s());
}

TEST(balancer, learns_the_part_of_a_step_that_does_not_depend_on_rows) {
  world w(4);
  w.fixed_s = 3e-3;
  w.row_s[2] *= 3;
  w.plans_in(100);
  std::vector<step_cost> costs;
  for (double row : w.row_s)
    costs.push_back({w.fixed_s, row, 0, 0});
  EXPECT_LE(w.last_step_s,
            1.05 * split_by_cost(world::batch, costs).makespan_s);
}

TEST(balancer, moves_no_row_for_ten_thousand_windows_of_noise) {
  for (uint64_t seed : {1, 7, 23}) {
    world w(4, false, seed);
    w.noise = 0.1;
    w.plans_in(2000); // it may learn how noisy things are
    uint64_t before = w.planner.state().window;
    uint64_t moved = w.moved_rows;
    uint64_t plans = 0;
    while (w.planner.state().window < before + 10'000)
      plans += w.plans_in(50);
    EXPECT_LE(plans, 1u) << "seed " << seed;
    EXPECT_EQ(w.moved_rows, moved) << "seed " << seed;
  }
}

TEST(balancer, makes_one_plan_at_most_for_a_load_that_flickers) {
  world w(4);
  w.plans_in(50);
  uint64_t plans = 0;
  for (int wave = 0; wave < 40; ++wave) {
    w.row_s[1] = wave % 2 == 0 ? 4e-4 : 1e-4;
    uint64_t until = w.planner.state().window + 2; // shorter than the dwell
    while (w.planner.state().window < until)
      plans += w.plans_in(1);
  }
  EXPECT_LE(plans, 2u) << "one plan: new weights, and data that follow them";
}

TEST(balancer, brings_sorted_data_below_the_budget_and_moves_no_chunk_twice) {
  world w(4, true);
  double before = w.skew();
  quota_request request{count_labels(w.set(), w.now()), {}, 0.05, 2};
  for (const ledger::share& one : w.now().shares)
    request.sizes.push_back(rows(one));
  uint64_t bound = moves_bound(request);
  w.plans_in(30);
  EXPECT_GT(before, 0.6);
  EXPECT_LE(w.skew(), 0.05 + 1e-9);
  EXPECT_LE(double(w.moved_rows), 1.03 * double(bound));
  for (auto [chunk, count] : w.moves)
    EXPECT_EQ(count, 1u) << "chunk " << value(chunk);
}

TEST(balancer, moves_skewed_data_once_it_knows_how_much_each_should_own) {
  world w(4, true);
  EXPECT_EQ(w.look(0).state.code, balance_code::stale_report);
  EXPECT_EQ(w.look(3).state.code, balance_code::planned);
}

TEST(balancer, moves_skewed_data_also_where_nobody_can_be_measured) {
  world w(4, true);
  w.measured = false;
  EXPECT_EQ(w.plans_in(10), 0u);
  EXPECT_EQ(w.plans_in(200), 1u);
  EXPECT_LE(w.skew(), 0.05 + 1e-9);
}

TEST(balancer, gives_no_rows_to_who_has_no_room) {
  world w(4);
  w.free_bytes = 0;
  w.plans_in(50);
  w.row_s[1] *= 4;
  w.plans_in(50);
  EXPECT_EQ(w.moved_rows, 0u);
}

TEST(balancer, never_aims_at_the_one_who_has_no_room) {
  world w(4);
  w.full = 2;
  w.plans_in(50);
  w.row_s[1] *= 4;
  w.plans_in(50);
  EXPECT_GT(w.moved_rows, 0u) << "the others take what the slow one gives";
  EXPECT_FALSE(w.takers.contains(2));
}

// A copy comes before anything is let go.
TEST(balancer, swaps_nothing_with_the_one_who_has_no_room) {
  world w(4, true);
  w.full = 2;
  w.plans_in(50);
  EXPECT_GT(w.moved_rows, 0u);
  EXPECT_FALSE(w.takers.contains(2));
}

// Short ones (small_set_test) are over before a plan is in force.
TEST(balancer, helps_the_one_who_is_late_at_the_end_of_the_last_epoch) {
  world run(3);
  run.steps_left = 200;
  ASSERT_EQ(run.plans_in(20), 0u);
  run.left_in_epoch = 19; // of 240
  EXPECT_EQ(run.plans_in(20), 0u) << "nobody is late";
  run.late = 1;
  EXPECT_GT(run.plans_in(20), 0u) << to_string(run.planner.state().code);
}

// Those rows would come back a moment later.
TEST(balancer, moves_no_row_for_one_epoch_of_many) {
  world run(3);
  run.plans_in(20);
  run.left_in_epoch = 19; // of 240
  run.late = 1;
  EXPECT_EQ(run.plans_in(20), 0u);
}

TEST(balancer, has_nothing_to_do_for_one_worker) {
  world w(1);
  w.row_s[0] *= 4;
  EXPECT_EQ(w.plans_in(50), 0u);
  EXPECT_EQ(explain_plan(w.planner)["moved_rows"], 0);
  EXPECT_EQ(explain_worker(w.planner, 0)["rank"], 0);
}

TEST(balancer, waits_while_a_plan_is_under_way) {
  world w(4, true);
  w.obeys = false;
  EXPECT_EQ(w.look().state.code, balance_code::planned);
}

TEST(balancer, never_lets_a_worker_go_without_work) {
  world w(4);
  w.plans_in(20);
  w.row_s[3] = 1; // ten thousand times slower
  w.plans_in(50);
  for (const ledger::share& one : w.now().shares)
    EXPECT_GT(one.batch_weight, 0u);
}

TEST(balancer, says_what_slows_down_those_who_are_to_take_less) {
  world w(3);
  w.plans_in(50);
  w.row_s[1] *= 4;
  w.ill = 1;
  EXPECT_THAT(w.reason_of_next_plan(),
              HasSubstr("shorter; w2 takes less, its cuda:0: slowed "
                        "down by heat, for 3 s"));
  EXPECT_EQ(explain_worker(w.planner, 1)["device_trouble"],
            "cuda:0: slowed down by heat, for 3 s");
  EXPECT_TRUE(explain_worker(w.planner, 0)["device_trouble"].is_null());
}

TEST(balancer, says_who_waits_for_a_core) {
  world w(3);
  w.plans_in(50);
  w.row_s[1] *= 4;
  w.crowded = 1;
  EXPECT_THAT(w.reason_of_next_plan(),
              HasSubstr("shorter; w2 takes less, it waits for a "
                        "core 75.0 % of its time"));
  EXPECT_EQ(explain_worker(w.planner, 1)["waits_for_core"], 0.75);
}

TEST(balancer, measures_also_where_it_may_not_act) {
  world w(2);
  balance_policy off = world::policy();
  off.enabled = false;
  w.planner.set_policy(off);
  w.row_s[1] *= 3;
  EXPECT_EQ(w.plans_in(20), 0u);
  ASSERT_EQ(w.planner.state().row_us.size(), 2u);
  EXPECT_NEAR(w.planner.state().row_us[1] / w.planner.state().row_us[0], 3,
              0.1);
}

TEST(balancer, stops_when_it_is_told_to) {
  world w(4, true);
  balance_policy off = world::policy();
  off.enabled = false;
  w.planner.set_policy(off);
  EXPECT_EQ(w.plans_in(20), 0u);
  EXPECT_EQ(w.planner.state().code, balance_code::disabled);
}

TEST(explain, a_dry_run_names_moves_bound_frontier_and_what_was_rejected) {
  world w(4, true);
  w.obeys = false;
  w.look();
  auto out = explain_plan(w.planner);
  EXPECT_GT(out["moves"].size(), 10u);
  EXPECT_GE(out["moved_rows"], out["bound_rows"]);
  EXPECT_LE(out["after"]["skew_tv_max"].get<double>(), 0.06);
  EXPECT_GT(out["before"]["skew_tv_max"].get<double>(), 0.6);
  EXPECT_GT(out["frontier"].size(), 3u);
  uint64_t last = UINT64_MAX;
  for (const auto& at : out["frontier"]) {
    EXPECT_LE(at["moved_rows"].get<uint64_t>(), last)
        << "a wider budget costs no more";
    last = at["moved_rows"];
  }
  EXPECT_FALSE(out["rejected"].empty());
}

TEST(explain, a_dry_run_says_in_words_what_was_weighed) {
  world w(4, true);
  w.obeys = false;
  for (int i = 0; i < 10; ++i)
    w.look();
  const auto words = explain_plan(w.planner)["weighed"];
  EXPECT_THAT(
      words["asked"].dump(),
      AllOf(
          HasSubstr("by 70.0 %; the budget is 5.0 %, and its rows move for it "
                    "from 6.2 % on"),
          HasSubstr("batch: another split would shorten the step by 0.0 %"),
          HasSubstr("sizes: everybody owns what is asked for"),
          HasSubstr("one worker alone holds: 8")));
  EXPECT_THAT(words["prices"].dump(),
              AllOf(HasSubstr("no plan that leads as far moves fewer than"),
                    HasSubstr("with a skew budget of 2.0 %: 41780 rows"),
                    HasSubstr("with a skew budget of 10.0 %: 36864 rows"),
                    HasSubstr("all rows dealt anew: 46080 rows")));
  EXPECT_THAT(words["why_not_more"].dump(), HasSubstr("2.0 % would cost 1844"));
  EXPECT_THAT(words["would_change"].dump(),
              HasSubstr("end of what is under way"));
}

// The plan meets sizes within a tolerance, so its alternatives have to, too.
TEST(explain, names_no_part_of_a_plan_that_costs_more_than_the_plan) {
  uint64_t moves = 0;
  for (double factor = 1.1; factor < 4; factor += 0.1) {
    world w(4);
    w.plans_in(50);
    w.row_s[1] *= factor;
    w.obeys = false;
    for (int i = 0; i < 20; ++i)
      w.look();
    SCOPED_TRACE("slower by " + std::to_string(factor));
    const auto out = explain_plan(w.planner);
    const uint64_t moved = out["moved_rows"];
    moves += moved > 0;
    for (const auto& one : out["rejected"])
      if (one["code"] == "SKEW") {
        EXPECT_LE(one["moved_rows"].get<uint64_t>(), moved);
        EXPECT_THAT(
            out["weighed"]["prices"].dump(),
            HasSubstr("the same sizes alone, whatever the labels: " +
                      std::to_string(one["moved_rows"].get<uint64_t>())));
      }
  }
  EXPECT_GT(moves, 20u);
}

TEST(explain, says_what_would_change_a_decision) {
  world w(2);
  w.plans_in(10);
  EXPECT_THAT(explain_worker(w.planner, 1)["would_change"].dump(),
              AllOf(HasSubstr("a split of the batch that wins 12.5 %"),
                    HasSubstr("somebody who owns 5.0 % more rows"),
                    HasSubstr("a skew of 6.2 %")));
  balance_policy off = world::policy();
  off.enabled = false;
  w.planner.set_policy(off);
  const balance_state state = w.look().state;
  EXPECT_EQ(state.why, "balancing is switched off");
  EXPECT_EQ(state.would_change, "`ballast ctl set_balance enabled=true`");
  EXPECT_EQ(explain_worker(w.planner, 1)["would_change"], state.would_change);
}

TEST(explain, a_worker_and_a_chunk) {
  world w(4, true);
  w.plans_in(10);
  auto worker = explain_worker(w.planner, 1);
  EXPECT_EQ(worker["worker"], "w2");
  EXPECT_GT(worker["rows"].get<uint64_t>(), 0u);
  auto chunk = explain_chunk(w.planner, chunk_id{3});
  EXPECT_EQ(chunk["owners"].size(), 1u);
  EXPECT_EQ(chunk["rows"], chunk_rows);
}

} // namespace
} // namespace ballast::balance
