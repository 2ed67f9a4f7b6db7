// Goal: each epoch leaves one line, with the numbers of its own evaluation,
// however reports arrive. Method: steps and evaluations in and out of order.
#include "monitor/logs/epoch_lines.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace ballast::monitor {
namespace {

constexpr uint64_t step_ns = 100'000'000;
constexpr int64_t second = 1'000'000'000;
constexpr uint64_t per_epoch = 4;

using lines = std::vector<std::string>;

job job_of(uint64_t epochs) {
  job out;
  out.train.epochs = epochs;
  return out;
}

evaluation_report evaluation_of(uint64_t epoch) {
  evaluation_report out;
  out.epoch = epoch_number{epoch};
  out.step = step_number{epoch * per_epoch};
  out.loss = 0.439;
  out.accuracy = 0.9;
  out.values = metrics::metric_values{
      {metrics::metric::confusion_matrix, {1, 2, 3, 4}, {}},
      {metrics::metric::accuracy, {0.9}, {}},
      {metrics::metric::f1_macro, {0.8712}, {}}};
  return out;
}

/// Commits steps of 250 samples, a tenth of a second each.
class trained {
public:
  explicit trained(const job& what) { out.begin(what); }
  void step(double loss = 0.5) { again(last_ + 1, loss); }
  void again(uint64_t number, double loss = 0.5) {
    last_ = number;
    t_ns += step_ns;
    ledger::committed_step one;
    one.step = step_number{number};
    one.epoch = epoch_number{(number - 1) / per_epoch + 1};
    one.samples = 250;
    one.loss = loss;
    one.t_ns = t_ns;
    std::optional<epoch_lines::end> over;
    if (number % per_epoch == 0)
      over.emplace();
    out.committed(one, over);
  }
  void epoch() {
    for (uint64_t i = 0; i < per_epoch; ++i)
      step();
  }
  epoch_lines out;
  uint64_t t_ns = 7;

private:
  uint64_t last_ = 0;
};

TEST(epoch_lines, tell_the_newest_of_several_evaluations_of_an_epoch) {
  trained run(job_of(3));
  evaluation_report within = evaluation_of(1);
  within.step = step_number{2};
  within.loss = 0.9;
  run.out.evaluated(within, true);
  run.epoch();
  run.out.evaluated(evaluation_of(1), true);
  const lines told = run.out.take(0);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("test 0.4390"), std::string::npos) << told[0];
}

TEST(epoch_lines, tell_an_epoch_with_its_evaluation_once) {
  trained run(job_of(3));
  run.epoch();
  EXPECT_EQ(run.out.take(0), lines{}) << "its evaluation is on the way";
  run.out.evaluated(evaluation_of(1), true);
  run.out.evaluated(evaluation_of(1), true);
  EXPECT_EQ(run.out.take(0), lines{"epoch 1/3  loss 0.5000  test 0.4390  "
                                   "accuracy 0.9000  0.400 s  2.50 k "
                                   "samples/s"});
  EXPECT_EQ(run.out.take(0, true), lines{});
}

TEST(epoch_lines, show_the_metric_that_decides) {
  job what = job_of(3);
  what.stop.metric = "f1_macro";
  trained run(what);
  run.out.evaluated(evaluation_of(1), true); // overtakes the steps
  run.epoch();
  const lines got = run.out.take(0);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_NE(got[0].find("test 0.4390  f1_macro 0.8712  "), std::string::npos)
      << got[0];
}

TEST(epoch_lines, wait_for_the_newest_evaluation_that_is_due_in_an_epoch) {
  const auto after = [](uint64_t step) {
    evaluation_report out = evaluation_of((step - 1) / per_epoch + 1);
    out.step = step_number{step};
    out.loss = double(step);
    return out;
  };
  job what = job_of(3);
  what.evaluate.every = 3; // after 3, 6, 9 and the last step
  trained run(what);
  run.epoch();
  EXPECT_EQ(run.out.take(0), lines{});
  run.out.evaluated(after(3), true);
  EXPECT_NE(run.out.take(0).at(0).find("test 3.000"), std::string::npos);
  run.epoch();
  run.out.evaluated(after(6), true);
  EXPECT_NE(run.out.take(0).at(0).find("test 6.000"), std::string::npos);
  run.epoch();
  run.out.evaluated(after(9), true);
  EXPECT_EQ(run.out.take(0), lines{}) << "the last step is evaluated, too";
  run.out.evaluated(after(12), true);
  EXPECT_NE(run.out.take(0).at(0).find("test 12.00"), std::string::npos);
}

TEST(epoch_lines, do_without_an_evaluation_where_none_is_due) {
  job what = job_of(3);
  what.evaluate.every = 7;
  trained run(what);
  run.epoch();
  EXPECT_EQ(run.out.take(0).size(), 1u);
  run.epoch();
  EXPECT_EQ(run.out.take(0), lines{});
}

TEST(epoch_lines, do_without_an_evaluation_an_epoch_later) {
  trained run(job_of(3));
  run.epoch();
  run.epoch();
  EXPECT_EQ(run.out.take(0), lines{});
  run.step();
  EXPECT_EQ(run.out.take(0),
            lines{"epoch 1/3  loss 0.5000  0.400 s  2.50 k samples/s"});
}

TEST(epoch_lines, do_without_an_evaluation_of_no_test_part) {
  job what = job_of(3);
  what.data.test_fraction = 0;
  trained run(what);
  run.epoch();
  EXPECT_EQ(run.out.take(0),
            lines{"epoch 1/3  loss 0.5000  0.400 s  2.50 k samples/s"});
  run.step();
  for (uint64_t i = 1; i < per_epoch; ++i)
    run.step(std::nan(""));
  EXPECT_EQ(run.out.take(0, true),
            lines{"epoch 2/3  loss 0.5000  0.400 s  2.50 k samples/s"})
      << "of the steps whose loss is known";
}

TEST(epoch_lines, count_no_evaluation_as_training) {
  trained run(job_of(3));
  run.epoch();
  evaluation_report slow = evaluation_of(1);
  slow.wall_ns = 5 * step_ns;
  run.t_ns += slow.wall_ns;
  run.out.evaluated(slow, true);
  run.out.take(0);
  run.epoch();
  const lines got = run.out.take(0, true);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_NE(got[0].find("0.400 s  2.50 k samples/s"), std::string::npos)
      << got[0];
}

TEST(epoch_lines, tell_an_epoch_again_that_was_undone) {
  trained run(job_of(3));
  run.epoch();
  run.out.evaluated(evaluation_of(1), true);
  EXPECT_EQ(run.out.take(0).size(), 1u);
  run.step();
  for (uint64_t number = 3; number <= per_epoch; ++number)
    run.again(number, 0.25);
  EXPECT_EQ(run.out.take(0), lines{}) << "it is evaluated again";
  run.out.evaluated(evaluation_of(1), true);
  const lines got = run.out.take(0);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_NE(got[0].find("epoch 1/3  loss 0.2500  test"), std::string::npos)
      << got[0];
}

TEST(epoch_lines, tell_each_epoch_of_few_however_fast_they_are) {
  trained run(job_of(epoch_lines::each_max));
  for (int i = 0; i < 5; ++i)
    run.epoch();
  EXPECT_EQ(run.out.take(0, true).size(), 5u);
}

TEST(epoch_lines, tell_of_thousands_one_a_second_and_the_last) {
  trained run(job_of(5000));
  lines got;
  for (int64_t i = 0; i < 40; ++i) {
    run.epoch();
    for (const std::string& one : run.out.take(i * second / 10))
      got.push_back(one.substr(0, one.find("  ")));
  }
  for (const std::string& one : run.out.take(4 * second, true))
    got.push_back(one.substr(0, one.find("  ")));
  EXPECT_EQ(got, (lines{"epoch 1/5000", "epoch 11/5000", "epoch 21/5000",
                        "epoch 31/5000", "epoch 40/5000"}));
}

} // namespace
} // namespace ballast::monitor
