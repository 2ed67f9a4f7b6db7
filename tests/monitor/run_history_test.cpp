/// Goal: what a run was stays known in bounded memory, and undone steps do not.
#include "monitor/history/run_history.hpp"

#include "monitor/http/series_request.hpp"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <limits>
#include <nlohmann/json.hpp>

namespace ballast::monitor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ledger::committed_step step(uint64_t number, double loss, double t_s,
                            uint64_t samples = 10) {
  ledger::committed_step out;
  out.step = step_number{number};
  out.world = 2;
  out.samples = samples;
  out.loss = loss;
  out.t_ns = uint64_t(t_s * 1e9);
  return out;
}

nlohmann::json series(const run_history& of, const std::string& name,
                      double from_s = 0, size_t points = 500) {
  return of.to_json({{name}, int64_t(from_s * 1e9), points})["series"][name];
}

TEST(bounded_series, of_few_numbers_has_each) {
  bounded_series of(8);
  for (int i = 0; i < 8; ++i)
    of.add(i, step_number{uint64_t(i)}, i * i);
  const auto cells = of.cells(0, 100);
  ASSERT_EQ(cells.size(), 8U);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(cells[i].mean(), double(i * i));
    EXPECT_EQ(cells[i].end_ns, int64_t(i));
  }
}

TEST(bounded_series, of_many_numbers_loses_none_and_no_spike) {
  bounded_series of(8);
  double sum = 0;
  for (uint64_t i = 0; i < 100'003; ++i) {
    const double number = i == 77'777 ? 1000 : double(i % 7);
    sum += number;
    of.add(int64_t(i), step_number{i}, number);
    const auto now = of.cells(0, 100);
    ASSERT_LE(now.size(), 8U);
    ASSERT_EQ(now.back().end_ns, int64_t(i));
  }
  const auto cells = of.cells(0, 100);
  EXPECT_GE(cells.size(), 4U);
  uint64_t count = 0;
  double found = 0, most = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    count += cells[i].count;
    found += cells[i].sum;
    most = std::max(most, cells[i].most);
    EXPECT_EQ(cells[i].begin_ns, i == 0 ? 0 : cells[i - 1].end_ns + 1);
    if (i + 1 < cells.size()) // evenly coarse
      EXPECT_EQ(cells[i].count, cells[0].count);
  }
  EXPECT_EQ(count, 100'003U);
  EXPECT_EQ(found, sum);
  EXPECT_EQ(most, 1000);
}

TEST(bounded_series, is_asked_for_a_part_in_as_many_cells) {
  bounded_series of(100);
  for (int i = 0; i < 100; ++i)
    of.add(i, step_number{uint64_t(i)}, i);
  const auto cells = of.cells(90, 5);
  ASSERT_EQ(cells.size(), 5U);
  EXPECT_EQ(cells[0].mean(), 90.5);
  EXPECT_EQ(cells[4].end_ns, 99);
  EXPECT_TRUE(of.cells(100, 5).empty());
  EXPECT_EQ(of.cells(0, 1).size(), 1U);
}

TEST(bounded_series, leaves_out_what_is_not_finite) {
  bounded_series of(4);
  of.add(1, step_number{1}, std::numeric_limits<double>::quiet_NaN());
  of.add(2, step_number{2}, std::numeric_limits<double>::infinity());
  EXPECT_TRUE(of.empty());
}

TEST(bounded_series, takes_a_clock_that_went_back_for_the_newest_time) {
  bounded_series of(4);
  of.add(5, step_number{1}, 1);
  of.add(3, step_number{2}, 2);
  const auto cells = of.cells(0, 4);
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[1].end_ns, 5);
}

TEST(run_history, has_losses_worlds_and_speeds_of_steps) {
  run_history of;
  std::vector<ledger::committed_step> steps;
  for (uint64_t i = 1; i <= 21; ++i)
    steps.push_back(step(i, 1.0 / double(i), 0.1 * double(i)));
  of.committed(steps);
  EXPECT_THAT(of.names(), ElementsAre("loss", "samples_per_s", "world"));
  const nlohmann::json loss = series(of, "loss");
  EXPECT_EQ(loss["mean"].size(), 21U);
  EXPECT_EQ(loss["step"][20], 21);
  EXPECT_DOUBLE_EQ(loss["t_s"][20].get<double>(), 2.1);
  const nlohmann::json speed = series(of, "samples_per_s");
  ASSERT_GE(speed["mean"].size(), 3U);
  for (const nlohmann::json& one : speed["mean"])
    EXPECT_NEAR(one.get<double>(), 100, 1e-6);
}

TEST(run_history, forgets_steps_that_are_undone) {
  run_history of;
  for (uint64_t i = 1; i <= 10; ++i)
    of.committed(std::vector{step(i, 1, double(i))});
  of.evaluated(5'000'000'000, {.step = step_number{5}, .loss = 2});
  of.evaluated(9'000'000'000, {.step = step_number{9}, .loss = 3});
  of.undone(step_number{6});
  EXPECT_EQ(series(of, "loss")["step"].back(), 6);
  EXPECT_THAT(series(of, "test_loss")["mean"].get<std::vector<double>>(),
              ElementsAre(2));
  of.committed(std::vector{step(7, 4, 20)});
  EXPECT_EQ(series(of, "loss")["mean"].back(), 4);
}

TEST(run_history, has_the_metrics_of_evaluations_that_are_one_number) {
  run_history of;
  of.evaluated(1, {.step = step_number{5},
                   .loss = 2,
                   .accuracy = 0.5,
                   .values = {{metrics::metric::f1_macro, {0.4}, {}, 0},
                              {metrics::metric::f1_per_class, {1, 2}, {}, 0}}});
  EXPECT_THAT(of.names(),
              ElementsAre("test_accuracy", "test_f1_macro", "test_loss"));
}

TEST(run_history, of_a_million_steps_is_small_and_whole) {
  run_history of;
  for (uint64_t i = 1; i <= 1'000'000; ++i)
    of.committed(std::vector{step(i, 1, 0.01 * double(i))});
  const nlohmann::json loss = series(of, "loss", 0, series_points_max);
  EXPECT_LE(loss["mean"].size(), run_history::cells_max);
  EXPECT_GE(loss["mean"].size(), run_history::cells_max / 4);
  EXPECT_EQ(loss["step"].back(), 1'000'000);
}

TEST(run_history, answers_nothing_of_names_that_it_does_not_know) {
  EXPECT_TRUE(series(run_history(), "no")["mean"].empty());
}

TEST(series_request, is_read_from_a_query) {
  const series_asked found = parse_series("loss,world,,loss", "1.5", "7");
  EXPECT_EQ(found.refused, "");
  EXPECT_THAT(found.query.names, ElementsAre("loss", "world"));
  EXPECT_EQ(found.query.from_ns, 1'500'000'000);
  EXPECT_EQ(found.query.points_max, 7U);
  EXPECT_EQ(parse_series("", "", "").query.points_max, 500U);
}

TEST(series_request, refuses_what_is_no_number_or_too_many) {
  for (const char* from : {"x", "1e400", "nan", "1e30", "1 "})
    EXPECT_THAT(parse_series("a", from, "").refused, HasSubstr("'from'"))
        << from;
  for (const char* points : {"0", "-1", "2001", "1.5", "99999999999999999999"})
    EXPECT_THAT(parse_series("a", "", points).refused, HasSubstr("'points'"))
        << points;
  std::string names;
  for (int i = 0; i < 65; ++i)
    names += "a" + std::to_string(i) + ",";
  EXPECT_THAT(parse_series(names, "", "").refused, HasSubstr("'names'"));
}

} // namespace
} // namespace ballast::monitor
