// Goal: a look at a large set is answered with a plan that is good to
// train in and a bound that holds; and it can be broken off. Method: sets of
// many classes, workers or chunks; small sets with little effort.
#include "runtime/balance/balancer.hpp"
#include "runtime/balance/explain.hpp"
#include "runtime/balance/memory_fit.hpp"
#include "runtime/balance/moves_bound.hpp"
#include "runtime/balance/repair.hpp"
#include "tests/runtime/balance/moves_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ballast::testing {
namespace {

using ::testing::HasSubstr;

struct large_set {
  const char* placement;
  uint32_t rows, classes, workers, chunk_rows;
  double skew_tv;
};

std::string to_string(const large_set& in) {
  return std::to_string(in.workers) + " workers, " +
         std::to_string(in.classes) + " classes, " + in.placement + ", " +
         std::to_string(in.rows) + " rows in chunks of " +
         std::to_string(in.chunk_rows) + ", budget " +
         std::to_string(in.skew_tv);
}

ledger::manifest chunks_of(const large_set& in) {
  std::vector<int32_t> labels;
  for (uint32_t row = 0; row < in.rows; ++row)
    labels.push_back(int32_t(uint64_t{row} * in.classes / in.rows));
  placement_spec spec;
  spec.kind = parse_word<placement_kind>(in.placement).value();
  spec.alpha = 0.3;
  const placement::placement_rows of{labels.size(), labels, in.classes};
  return chunked(balance::lay_out_chunks(spec, of,
                                         place_rows(spec, of, in.workers, 7),
                                         in.chunk_rows),
                 labels, in.classes);
}

/// A run of equal workers that is looked at for the first time; or, if that
/// splits the batch, after that.
class first_look {
public:
  explicit first_look(const large_set& in, uint64_t effort = 0)
      : set_(std::make_shared<ledger::manifest>(chunks_of(in))),
        now_(placed(*set_)) {
    balance::balance_policy policy{.global_batch = 256, .skew_tv = in.skew_tv};
    if (effort > 0)
      policy.search_effort = effort;
    planner_ = std::make_unique<balance::balancer>(policy, set_);
  }

  balance::balance_answer look(balance::search_effort::stop_asked stop = {}) {
    balance::load_view view;
    view.generation = now_.generation;
    view.number = now_.number;
    view.last = last_;
    if (std::exchange(new_, false))
      view.changed = now_;
    view.now_ms = 1000;
    view.steps_per_epoch = view.steps_left_in_epoch = 1000;
    view.steps_left = 100'000;
    view.step_us = {50'000, 50'000, 50'000};
    std::vector<uint64_t> weights;
    for (const ledger::share& one : now_.shares)
      weights.push_back(one.batch_weight);
    const std::vector<uint64_t> takes = balance::whole_takes(256, weights);
    for (size_t rank = 0; rank < takes.size(); ++rank) {
      const ledger::share& one = now_.shares[rank];
      balance::worker_load load;
      load.worker = one.worker;
      load.rows_left = rows(one);
      const uint64_t take = std::max<uint64_t>(1, takes[rank]);
      load.costs.assign(3, {uint32_t(take), take * 100'000});
      view.workers.push_back(std::move(load));
    }
    balance::balance_answer out = planner_->observe(view, stop);
    if (out.state.code != balance::balance_code::planned ||
        !out.proposal.moves.empty())
      return out;
    now_ =
        balance::moved_plan(now_, {}, next(now_.number), out.proposal.weights);
    new_ = true;
    last_ = balance::transfer_end::effective;
    return look(std::move(stop));
  }

  const ledger::manifest& set() const { return *set_; }
  const ledger::plan& now() const { return now_; }
  const balance::balancer& planner() const { return *planner_; }

private:
  std::shared_ptr<ledger::manifest> set_;
  ledger::plan now_;
  bool new_ = true;
  balance::transfer_end last_ = balance::transfer_end::none;
  std::unique_ptr<balance::balancer> planner_;
};

// Each took up to half a minute once. How long they take now is measured by
// `ballast bench planner`.
const large_set large_sets[] = {
    {"sorted", 20'000, 1'000, 8, 256, 0},
    {"dirichlet", 20'000, 1'000, 8, 256, 0},
    {"sorted", 20'000, 4'096, 4, 256, 0.05},
    {"dirichlet", 2'000'000, 10, 8, 10, 0},
};

TEST(large_set, is_looked_at_and_explained) {
  for (const large_set& one : large_sets) {
    SCOPED_TRACE(to_string(one));
    first_look run(one);
    const balance::balance_answer answer = run.look();
    EXPECT_EQ(answer.state.code, balance::balance_code::planned);
    EXPECT_LE(answer.proposal.bound_rows, answer.proposal.moved_rows);
    EXPECT_TRUE(explain_plan(run.planner(), true).contains("certificate"));
  }
}

TEST(large_set, gets_its_owners_after_a_death) {
  for (const large_set& one : large_sets) {
    SCOPED_TRACE(to_string(one));
    const ledger::manifest set = chunks_of(one);
    const ledger::plan before = placed(set);
    std::vector<worker_id> left = workers_named(one.workers);
    left.pop_back();
    const placed_shares found = balance::place(
        set, one.skew_tv, {generation{2}, plan_number{2}, left, before});
    uint64_t all = 0;
    for (const ledger::share& some : found.what.shares)
      all += rows(some);
    EXPECT_EQ(all, set.train_rows);
  }
}

// As if each were too large for its effort.
TEST(large_set, with_little_effort_gets_a_plan_that_is_no_worse_than_before) {
  for (const large_set& one : {large_set{"sorted", 4'000, 10, 4, 25, 0.05},
                               large_set{"dirichlet", 6'000, 20, 8, 25, 0.1},
                               large_set{"dirichlet", 4'000, 8, 5, 40, 0}})
    for (uint64_t effort : {1'000, 30'000, 100'000, 300'000, 1'000'000}) {
      SCOPED_TRACE(to_string(one) + ", effort " + std::to_string(effort));
      first_look run(one, effort);
      const balance::balance_answer answer = run.look();
      if (answer.state.code != balance::balance_code::planned) {
        EXPECT_EQ(answer.state.code, balance::balance_code::limited);
        EXPECT_THAT(answer.state.why, HasSubstr("cut short"));
        continue;
      }
      const ledger::plan then =
          after(run.now(), {.moves = answer.proposal.moves});
      const balance::label_counts held =
          balance::count_labels(run.set(), run.now());
      const balance::label_counts next_held =
          balance::count_labels(run.set(), then);
      const bool by_size =
          answer.proposal.reason.find("than its part") != std::string::npos;
      EXPECT_TRUE(by_size ||
                  max_of(skews(next_held)) <= max_of(skews(held)) + 1e-9);
      const auto part = double(one.rows) / one.workers;
      double worst = double(one.chunk_rows);
      for (size_t rank = 0; rank < one.workers; ++rank)
        worst = std::max(worst, double(held.of_worker(rank)) - part);
      for (size_t rank = 0; rank < one.workers; ++rank)
        EXPECT_LE(double(next_held.of_worker(rank)) - part, worst + 1);
      balance::quota_request as_good = as_good_as(held, next_held, one.skew_tv);
      as_good.holders_min = 0;
      EXPECT_LE(answer.proposal.bound_rows, exact_quota(as_good).moved);
    }
}

TEST(large_set, says_that_its_search_was_cut_short) {
  first_look run({"dirichlet", 6'000, 20, 8, 25, 0.1}, 300'000);
  EXPECT_THAT(run.look().proposal.reason, HasSubstr("cut short"));
  EXPECT_TRUE(explain_plan(run.planner()).contains("cut_short"));
  first_look free({"dirichlet", 6'000, 20, 8, 25, 0.1});
  EXPECT_THAT(free.look().proposal.reason,
              ::testing::Not(HasSubstr("cut short")));
  EXPECT_FALSE(explain_plan(free.planner()).contains("cut_short"));
}

TEST(large_set, is_not_decided_on_if_the_search_is_broken_off) {
  first_look run({"sorted", 4'000, 10, 4, 25, 0.05});
  for (int asked_max : {0, 1, 10, 100}) {
    int asked = 0;
    const balance::balance_answer answer =
        run.look([&] { return asked++ >= asked_max; });
    EXPECT_EQ(answer.state.code, balance::balance_code::undecided);
    EXPECT_TRUE(answer.proposal.moves.empty());
  }
  EXPECT_EQ(run.look().state.code, balance::balance_code::planned)
      << "the next look has what the others saw";
}

} // namespace
} // namespace ballast::testing
