/// Goal: evaluations are judged as the job says, and alike wherever they are
/// taken in one after another.
#include "runtime/messages/judge.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

namespace ballast {
namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr uint64_t steps_per_epoch = 10;

job stopping(const std::string& metric) {
  job out;
  out.stop.metric = metric;
  return out;
}

evaluation_report found(uint64_t epoch, double loss) {
  evaluation_report out;
  out.epoch = epoch_number{epoch};
  out.step = step_number{epoch * steps_per_epoch};
  out.loss = loss;
  return out;
}

evaluation_report with_accuracy(uint64_t epoch, double accuracy) {
  evaluation_report out = found(epoch, 1);
  out.values = std::vector<metrics::metric_value>{
      {metrics::metric::accuracy, {accuracy}, "", 0}};
  return out;
}

/// What comes of a curve: until when it went on.
struct course {
  judgement so_far;
  std::vector<uint64_t> better; // epochs
  std::string over;
};

course of_losses(const job& what, const std::vector<double>& losses) {
  const judge by(what);
  course out;
  for (size_t i = 0; i < losses.size() && out.over.empty(); ++i) {
    const uint64_t epoch = i + 1;
    if (by.hear(out.so_far, found(epoch, losses[i])))
      out.better.push_back(epoch);
    out.over = by.over(out.so_far);
  }
  return out;
}

TEST(judge, ends_a_run_after_so_many_evaluations_without_a_better_one) {
  job what = stopping("loss");
  what.stop.patience = 2;
  const course one = of_losses(what, {3, 2, 2.5, 1.5, 1.5, 1.6, 0});
  EXPECT_EQ(one.better, (std::vector<uint64_t>{1, 2, 4}));
  EXPECT_EQ(one.so_far.judged, step_number{60});
  EXPECT_EQ(one.so_far.stop,
            (best_so_far{epoch_number{4}, step_number{40}, 1.5}));
  EXPECT_EQ(one.over, "no better loss in 2 evaluations (stop.patience); the "
                      "best is 1.5, of epoch 4");
}

TEST(judge, names_steps_where_the_test_part_is_evaluated_after_so_many) {
  job what = stopping("loss");
  what.stop.patience = 1;
  what.evaluate.every = 7;
  const judge by(what);
  judgement so_far;
  evaluation_report one = found(1, 2);
  one.step = step_number{7};
  by.hear(so_far, one);
  one.step = step_number{14}; // of the same epoch
  EXPECT_FALSE(by.hear(so_far, one));
  EXPECT_EQ(by.over(so_far), "no better loss in 1 evaluation (stop.patience); "
                             "the best is 2, of step 7");
}

TEST(judge, takes_what_is_better_by_min_delta_or_less_for_no_better) {
  job what = stopping("loss");
  what.stop.patience = 3;
  what.stop.min_delta = 0.5;
  const course one = of_losses(what, {3, 2.6, 2.5, 2.4, 2.3, 2.2});
  EXPECT_EQ(one.better, (std::vector<uint64_t>{1, 4}));
  EXPECT_TRUE(one.over.empty());
  EXPECT_EQ(one.so_far.since, 2U);
}

TEST(judge, ends_a_run_that_is_as_good_as_was_asked_for) {
  job what = stopping("loss");
  what.stop.target = 1.5;
  EXPECT_EQ(of_losses(what, {2, 1.6, 1.5, 1}).over,
            "loss is at most 1.5 after epoch 3 (stop.target)");
  what = stopping("accuracy");
  what.stop.target = 0.9;
  const judge by(what);
  judgement so_far;
  EXPECT_TRUE(by.hear(so_far, with_accuracy(1, 0.8)));
  EXPECT_TRUE(by.over(so_far).empty());
  EXPECT_TRUE(by.hear(so_far, with_accuracy(2, 0.95)));
  EXPECT_EQ(by.over(so_far),
            "accuracy is at least 0.9 after epoch 2 (stop.target)");
}

TEST(judge, never_takes_what_is_no_number_for_better) {
  job what = stopping("loss");
  what.stop.patience = 2;
  const course one = of_losses(what, {nan_value, 2, nan_value, nan_value});
  EXPECT_EQ(one.better, std::vector<uint64_t>{2});
  EXPECT_FALSE(one.over.empty());
  EXPECT_EQ(of_losses(what, {nan_value, nan_value}).over,
            "no loss in 2 evaluations (stop.patience)");
  // An accuracy that is not computed.
  const judge by(stopping("accuracy"));
  judgement so_far;
  EXPECT_FALSE(by.hear(so_far, found(1, 0)));
}

TEST(judge, keeps_by_a_metric_of_its_own_whatever_min_delta_says) {
  job what = stopping("loss");
  what.stop.patience = 1;
  what.stop.min_delta = 10;
  what.keep.best.metric = "loss";
  const judge by(what);
  judgement so_far;
  EXPECT_TRUE(by.hear(so_far, found(1, 3)));
  EXPECT_TRUE(by.hear(so_far, found(2, 2.9)));
  EXPECT_EQ(so_far.keep, (best_so_far{epoch_number{2}, step_number{20}, 2.9}));
  EXPECT_EQ(so_far.stop.epoch, epoch_number{1});
  EXPECT_EQ(by.best(so_far).epoch, epoch_number{2});
  // Of equal ones the first.
  EXPECT_FALSE(by.hear(so_far, found(3, 2.9)));
}

TEST(judge, takes_the_mode_that_the_job_says) {
  job what;
  what.keep.best = {"loss", best_mode::max};
  EXPECT_EQ(of_losses(what, {1, 3, 2}).better, (std::vector<uint64_t>{1, 2}));
}

TEST(judge, takes_in_each_epoch_once) {
  job what = stopping("loss");
  what.stop.patience = 2;
  const judge by(what);
  judgement so_far;
  by.hear(so_far, found(2, 1));
  const judgement before = so_far;
  EXPECT_FALSE(by.hear(so_far, found(2, 0)));
  EXPECT_FALSE(by.hear(so_far, found(1, 0)));
  EXPECT_EQ(so_far, before);
}

TEST(judge, judges_nothing_where_the_job_does_not_ask_for_it) {
  const judge by(job{});
  judgement so_far;
  EXPECT_FALSE(by.judges() || by.keeps() || by.ends());
  EXPECT_FALSE(by.hear(so_far, found(1, 1)));
  EXPECT_EQ(so_far, judgement{});
}

} // namespace
} // namespace ballast
