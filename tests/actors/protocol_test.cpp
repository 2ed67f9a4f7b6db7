/// Goal: what a worker tells arrives as it was told, also numbers that are
/// none.
#include "actors/protocol.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace ballast::actors {
namespace {

template <class T>
T sent(T what) {
  std::vector<char> bytes;
  caf::binary_serializer out(nullptr, bytes);
  EXPECT_FALSE(out(what));
  T back{};
  caf::binary_deserializer in(nullptr, bytes);
  EXPECT_FALSE(in(back));
  return back;
}

TEST(protocol, carries_an_evaluation_of_a_model_that_diverged) {
  const double infinite = std::numeric_limits<double>::infinity();
  evaluation_report what;
  what.worker = worker_id{3};
  what.step = step_number{70};
  what.epoch = epoch_number{7};
  what.loss = infinite;
  what.accuracy = std::numeric_limits<double>::quiet_NaN();
  what.rows = 100;
  what.values = {{metrics::metric::r2, {-infinite}, "", 0},
                 {metrics::metric::f1_per_class,
                  {0.1, std::numeric_limits<double>::quiet_NaN(), -0.0, 1e-310},
                  "class 1 has no rows in the test part",
                  0.25}};
  const worker_report arrived = sent(worker_report(what));
  const auto& is = std::get<evaluation_report>(arrived);
  EXPECT_EQ(is.worker, what.worker);
  EXPECT_EQ(is.step, what.step);
  EXPECT_EQ(is.epoch, what.epoch);
  EXPECT_EQ(is.loss, infinite);
  EXPECT_TRUE(std::isnan(is.accuracy));
  EXPECT_EQ(is.rows, 100U);
  ASSERT_EQ(is.values.size(), 2U);
  EXPECT_EQ(is.values[0], what.values[0]);
  EXPECT_EQ(is.values[1].what, metrics::metric::f1_per_class);
  EXPECT_EQ(is.values[1].undefined, what.values[1].undefined);
  EXPECT_EQ(is.values[1].error_max, 0.25);
  ASSERT_EQ(is.values[1].numbers.size(), 4U);
  EXPECT_EQ(is.values[1].numbers[0], 0.1);
  EXPECT_TRUE(std::isnan(is.values[1].numbers[1]));
  EXPECT_TRUE(std::signbit(is.values[1].numbers[2]));
  EXPECT_EQ(is.values[1].numbers[3], 1e-310);
}

TEST(protocol, carries_a_report_with_lists_of_structs) {
  progress_report what;
  what.worker = worker_id{2};
  what.rows = 5;
  what.costs = {{1, 20, 3}, {4, 50, 6}};
  what.drawn_rows = 9;
  const auto is = std::get<progress_report>(sent(worker_report(what)));
  EXPECT_EQ(is.worker, what.worker);
  EXPECT_EQ(is.rows, 5U);
  ASSERT_EQ(is.costs.size(), 2U);
  EXPECT_EQ(is.costs[1].compute_ns, 50U);
  EXPECT_EQ(is.drawn_rows, 9U);
}

} // namespace
} // namespace ballast::actors
