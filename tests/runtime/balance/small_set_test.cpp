// Goal: a set of so few rows that whole rows are a large part of a share is
// balanced once, not for ever. Method: a run of many epochs in virtual time; a
// real ledger says who has how much left, takes are whole rows, and all workers
// are about equally fast.
#include "runtime/balance/balancer.hpp"
#include "runtime/ledger.hpp"
#include "runtime/placement.hpp"

#include "tests/runtime/ledger_fixture.hpp"

#include <gtest/gtest.h>

namespace ballast {
namespace {

struct small_set {
  uint32_t rows = 100;
  uint32_t chunk_rows = 256;
  uint32_t workers = 3;
  uint64_t batch = 20;
  uint32_t classes = 2;
  double noise = 0.02;   // of a take
  double slowest = 1;    // of the last worker, in times of the others
  uint64_t steps = 8000; // of 5 ms
};

std::string to_string(const small_set& in) {
  return std::to_string(in.rows) + " rows in chunks of " +
         std::to_string(in.chunk_rows) + ", " + std::to_string(in.workers) +
         " workers, batch " + std::to_string(in.batch) + ", slowest " +
         std::to_string(in.slowest);
}

manifest chunks_of(const small_set& in) {
  manifest out;
  out.row.classes = in.classes;
  for (uint32_t left = in.rows; left > 0;) {
    chunk_info one;
    one.id = chunk_id(uint32_t(out.train.size()));
    one.rows = std::min(left, in.chunk_rows);
    one.bytes = one.rows * 64;
    one.label_histogram.assign(in.classes, one.rows / in.classes);
    one.label_histogram[0] += one.rows % in.classes;
    left -= one.rows;
    out.train_rows += one.rows;
    out.train.push_back(std::move(one));
  }
  return out;
}

/// A run whose plans take effect three steps after they are wanted.
class small_run {
public:
  explicit small_run(const small_set& in)
      : in_(in), random_(in.rows + 1000 * in.workers + in.batch),
        set_(std::make_shared<manifest>(chunks_of(in))),
        now_(first_plan(*set_, workers_of(in), generation{1}, plan_number{1})),
        book_({.seed = 1, .global_batch = in.batch, .chunk_rows = sizes(*set_)},
              now_),
        mind_(balance_policy{.global_batch = in.batch}, set_) {}

  /// The steps at which a plan took effect.
  std::vector<uint64_t> plans() {
    for (uint64_t step = 1; step <= in_.steps; ++step) {
      if (under_way_ && step == due_)
        land(step);
      take();
      // Not in step with the epochs.
      if (random_.one_in(10))
        look(step);
    }
    return plans_;
  }

private:
  static std::vector<worker_id> workers_of(const small_set& in) {
    std::vector<worker_id> out;
    for (uint32_t i = 1; i <= in.workers; ++i)
      out.push_back(worker_id{i});
    return out;
  }

  static std::vector<uint32_t> sizes(const manifest& set) {
    std::vector<uint32_t> out;
    for (const chunk_info& one : set.train)
      out.push_back(one.rows);
    return out;
  }

  void land(uint64_t step) {
    plan next_one = moved_plan(now_, under_way_->moves, next(now_.number),
                               under_way_->weights);
    auto refused = book_.switch_to(next_one);
    ASSERT_FALSE(refused) << *refused;
    now_ = std::move(next_one);
    under_way_.reset();
    last_ = transfer_end::effective;
    plans_.push_back(step);
  }

  /// One step; everybody takes as long as its rows do.
  void take() {
    double longest = 0;
    costs_.resize(in_.workers);
    for (size_t rank = 0; rank < in_.workers; ++rank) {
      uint64_t count = book_.takes()[rank];
      if (count == 0)
        continue;
      double off = double(random_.below(2001)) / 1000 - 1; // -1 to 1
      double s = 2.5e-4 * double(count) * (1 + in_.noise * off) *
                 (rank + 1 == in_.workers ? in_.slowest : 1);
      longest = std::max(longest, s);
      costs_[rank].push_back({uint32_t(count), uint64_t(s * 1e9)});
    }
    now_us_ += uint64_t(longest * 1e6);
    step_us_.push_back(uint64_t(longest * 1e6));
    book_.advance();
  }

  void look(uint64_t step) {
    load_view view;
    view.generation = now_.generation;
    view.number = now_.number;
    if (std::exchange(seen_, now_.number) != now_.number)
      view.changed = now_;
    view.now_ms = 1000 + now_us_ / 1000;
    view.steps_per_epoch = book_.steps_per_epoch();
    view.steps_left_in_epoch =
        view.steps_per_epoch - step % view.steps_per_epoch;
    view.steps_left = 1'000'000;
    view.step_us = std::exchange(step_us_, {});
    view.transfer = under_way_.has_value();
    view.last = std::exchange(last_, transfer_end::none);
    for (size_t rank = 0; rank < in_.workers; ++rank) {
      worker_load load;
      load.worker = now_.shares[rank].worker;
      load.rows_left = book_.rows_left(rank);
      load.costs = std::move(costs_[rank]);
      view.workers.push_back(std::move(load));
    }
    costs_.clear();
    balance_answer answer = mind_.observe(view);
    if (answer.state.code != balance_code::planned)
      return;
    under_way_ = std::move(answer.proposal);
    due_ = step + 3;
  }

  small_set in_;
  testing::test_random random_;
  std::shared_ptr<const manifest> set_;
  plan now_;
  ledger book_;
  balancer mind_;
  plan_number seen_{};
  uint64_t now_us_ = 0;
  std::vector<uint64_t> step_us_;
  std::vector<std::vector<take_cost>> costs_;
  std::optional<balance_proposal> under_way_;
  uint64_t due_ = 0;
  transfer_end last_ = transfer_end::none;
  std::vector<uint64_t> plans_;
};

std::vector<small_set> all_of_them(double slowest) {
  std::vector<small_set> out;
  for (uint32_t rows : {30u, 64u, 100u, 101u, 250u})
    for (uint32_t chunk_rows : {13u, 256u})
      for (uint32_t workers : {2u, 3u, 4u})
        for (uint64_t batch : {8u, 16u, 20u, 32u})
          out.push_back({.rows = rows,
                         .chunk_rows = chunk_rows,
                         .workers = workers,
                         .batch = batch,
                         .slowest = slowest});
  return out;
}

TEST(small_set, of_equal_workers_is_balanced_once) {
  for (const small_set& one : all_of_them(1)) {
    std::vector<uint64_t> plans = small_run(one).plans();
    EXPECT_LE(plans.size(), 3u) << to_string(one);
    EXPECT_LT(plans.empty() ? 0 : plans.back(), one.steps / 2)
        << to_string(one);
  }
}

TEST(small_set, follows_a_worker_that_is_slower_and_stays_with_that) {
  for (double slowest : {1.3, 3.0})
    for (const small_set& one : all_of_them(slowest)) {
      std::vector<uint64_t> plans = small_run(one).plans();
      EXPECT_LE(plans.size(), 6u) << to_string(one);
      EXPECT_LT(plans.empty() ? 0 : plans.back(), one.steps / 2)
          << to_string(one);
    }
}

} // namespace
} // namespace ballast
