/// Expected values were computed with scikit-learn 1.9.1 and NumPy 2.4.6 from
/// the rows that stand here: softmax of the outputs in float64,
/// zero_division=0.
#include "runtime/metrics/metric_values.hpp"
#include "runtime/metrics/tally.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace ballast::metrics {
namespace {

using ::testing::HasSubstr;

struct scored_rows {
  std::vector<size_t> labels;
  std::vector<std::vector<float>> outputs;
};

const scored_rows three_classes = {{0, 2, 1, 1, 0, 0, 1, 0, 0, 1, 1, 2},
                                   {{2.75, 1.25, 1.75},
                                    {1.75, 0.5, 0.0},
                                    {-0.5, 4.0, -1.25},
                                    {-0.5, -0.5, -1.0},
                                    {0.5, 0.5, -0.5},
                                    {-0.5, 4.0, -1.25},
                                    {-2.75, 1.0, 2.5},
                                    {-0.5, -0.0, 5.75},
                                    {-1.0, -3.25, -0.75},
                                    {3.5, 5.0, -2.5},
                                    {1.25, 1.0, -1.25},
                                    {-4.0, 2.0, -0.75}}};

/// The log odds of class 1.
const std::vector<size_t> two_labels = {0, 0, 1, 0, 1, 0, 0,
                                        1, 0, 1, 0, 1, 1, 0};
const std::vector<float> two_odds = {-0.75, 1.5,   1.25, 0.75, 0.75,
                                     1.25,  -0.25, -0.5, 1.75, 2.5,
                                     3.5,   0.75,  0.25, -2.25};

const std::vector<double> targets = {988.375, 996.125, 1001.5,
                                     997.375, 992.25,  1001.875,
                                     998.25,  998.875, 998.75};
const std::vector<double> numbers = {988.25, 996.625, 999.75, 997.125, 991.75,
                                     1003.0, 997.25,  1000.5, 999.375};

std::vector<metric> fitting(task what, uint32_t classes) {
  std::vector<metric> out;
  for (const std::string& name : metrics_that_fit(what, classes))
    out.push_back(*parse_word<metric>(name));
  return out;
}

std::shared_ptr<const layout> laid_out(task what, uint32_t classes,
                                       uint64_t rows = 100) {
  return std::make_shared<const layout>(
      lay_out(what, classes, fitting(what, classes), rows));
}

/// What several workers were told, merged as the executor does it.
metric_values values_of(std::span<tally> workers) {
  const layout& by = workers[0].of();
  totals all;
  all.reals.resize(by.reals);
  all.counts.resize(by.counts);
  for (tally& one : workers) {
    const ordered_part part = one.take_part();
    merge_reals(by, all.reals, part.reals);
    all.ranked.insert(all.ranked.end(), part.ranked.begin(), part.ranked.end());
    for (size_t i = 0; i < by.counts; ++i)
      all.counts[i] += one.counts()[i];
  }
  return values_of(by, all);
}

metric_values values_of(tally& one) {
  return values_of(std::span(&one, 1));
}

tally scored(const std::shared_ptr<const layout>& by, const scored_rows& rows) {
  tally out(by);
  for (size_t i = 0; i < rows.labels.size(); ++i)
    out.add_scores(rows.labels[i], rows.outputs[i]);
  return out;
}

tally with_odds(const std::shared_ptr<const layout>& by) {
  tally out(by);
  for (size_t i = 0; i < two_labels.size(); ++i)
    out.add_log_odds(two_labels[i], two_odds[i]);
  return out;
}

const metric_value& found(const metric_values& in, metric what) {
  for (const metric_value& one : in)
    if (one.what == what)
      return one;
  throw std::out_of_range(to_string(what));
}

struct expected {
  metric what;
  std::vector<double> numbers;
};

void expect_all(const metric_values& in, const std::vector<expected>& values) {
  EXPECT_EQ(in.size(), values.size());
  for (const expected& one : values) {
    SCOPED_TRACE(to_string(one.what));
    const metric_value& is = found(in, one.what);
    EXPECT_EQ(is.undefined, "");
    EXPECT_EQ(is.error_max, 0);
    ASSERT_EQ(is.numbers.size(), one.numbers.size());
    for (size_t i = 0; i < one.numbers.size(); ++i)
      EXPECT_NEAR(is.numbers[i], one.numbers[i], 1e-12);
  }
}

const std::vector<expected> of_three_classes = {
    {metric::accuracy, {0.3333333333333333}},
    {metric::balanced_accuracy, {0.26666666666666666}},
    {metric::majority_accuracy, {5.0 / 12}},
    {metric::precision_macro, {0.3}},
    {metric::precision_weighted, {0.375}},
    {metric::precision_per_class, {0.4, 0.5, 0.0}},
    {metric::recall_macro, {0.26666666666666666}},
    {metric::recall_weighted, {0.3333333333333333}},
    {metric::recall_per_class, {0.4, 0.4, 0.0}},
    {metric::f1_macro, {0.2814814814814815}},
    {metric::f1_weighted, {0.35185185185185186}},
    {metric::f1_per_class, {0.4, 0.4444444444444444, 0.0}},
    {metric::rows_per_class, {5, 5, 2}},
    {metric::confusion_matrix, {2, 1, 2, 2, 2, 1, 1, 1, 0}},
    {metric::top_2_accuracy, {0.8333333333333334}},
    {metric::top_3_accuracy, {1}},
    {metric::top_5_accuracy, {1}},
    {metric::top_10_accuracy, {1}},
    {metric::log_loss, {1.8053765991638642}},
    {metric::brier, {0.9137332105061039}},
    {metric::ece, {0.552008384398079}},
    {metric::roc_auc, {0.5238095238095238}},
    {metric::roc_auc_per_class, {0.5285714285714286, 0.6428571428571429, 0.4}},
    {metric::average_precision, {0.4046825396825397}},
    {metric::average_precision_per_class,
     {0.4922222222222222, 0.5253968253968254, 0.19642857142857142}}};

const std::vector<expected> of_two_classes = {
    {metric::accuracy, {0.5714285714285714}},
    {metric::balanced_accuracy, {0.6041666666666667}},
    {metric::majority_accuracy, {8.0 / 14}},
    {metric::precision, {0.5}},
    {metric::recall, {0.8333333333333334}},
    {metric::f1, {0.625}},
    {metric::precision_macro, {0.625}},
    {metric::precision_weighted, {0.6428571428571429}},
    {metric::precision_per_class, {0.75, 0.5}},
    {metric::recall_macro, {0.6041666666666667}},
    {metric::recall_weighted, {0.5714285714285714}},
    {metric::recall_per_class, {0.375, 0.8333333333333334}},
    {metric::f1_macro, {0.5625}},
    {metric::f1_weighted, {0.5535714285714286}},
    {metric::f1_per_class, {0.5, 0.625}},
    {metric::rows_per_class, {8, 6}},
    {metric::confusion_matrix, {3, 5, 1, 5}},
    {metric::top_2_accuracy, {1}},
    {metric::top_3_accuracy, {1}},
    {metric::top_5_accuracy, {1}},
    {metric::top_10_accuracy, {1}},
    {metric::log_loss, {0.9641272964993497}},
    {metric::brier, {0.3247157024697848}},
    {metric::ece, {0.36767242481492995}},
    {metric::roc_auc, {0.48958333333333337}},
    {metric::roc_auc_per_class, {0.48958333333333337, 0.48958333333333337}},
    {metric::average_precision, {0.4537037037037037}},
    {metric::average_precision_per_class,
     {0.6812770562770563, 0.4537037037037037}}};

TEST(metric_values, of_classes_are_those_of_scikit_learn) {
  tally rows = scored(laid_out(task::classes, 3), three_classes);
  expect_all(values_of(rows), of_three_classes);
}

TEST(metric_values, of_two_classes_are_of_class_1_as_in_scikit_learn) {
  tally rows = with_odds(laid_out(task::classes, 2));
  expect_all(values_of(rows), of_two_classes);
}

TEST(metric_values, of_two_outputs_are_those_of_their_log_odds) {
  tally rows(laid_out(task::classes, 2));
  for (size_t i = 0; i < two_labels.size(); ++i)
    rows.add_scores(two_labels[i], std::vector<float>{0, two_odds[i]});
  expect_all(values_of(rows), of_two_classes);
}

TEST(metric_values, of_numbers_are_those_of_scikit_learn) {
  tally rows(laid_out(task::number, 0));
  for (size_t i = 0; i < targets.size(); ++i)
    rows.add_number(targets[i], numbers[i]);
  expect_all(values_of(rows), {{metric::mae, {0.8333333333333334}},
                               {metric::rmse, {0.9965217285917832}},
                               {metric::r2, {0.9404166666666667}},
                               {metric::mean_rmse, {4.08248290463863}},
                               {metric::abs_error_p50, {0.625}},
                               {metric::abs_error_p90, {1.65}},
                               {metric::abs_error_p99, {1.74}}});
}

/// Goal: no mean of means. Workers with 1, 4 and 7 rows, or none.
TEST(metric_values, of_uneven_workers_are_those_of_all_rows_together) {
  const auto by = laid_out(task::classes, 3);
  std::vector<tally> workers(4, tally(by));
  for (size_t i = 0; i < three_classes.labels.size(); ++i)
    workers[i < 1   ? 0
            : i < 5 ? 1
                    : 3]
        .add_scores(three_classes.labels[i], three_classes.outputs[i]);
  expect_all(values_of(workers), of_three_classes);

  std::vector<tally> pair(2, tally(laid_out(task::number, 0)));
  for (size_t i = 0; i < targets.size(); ++i)
    pair[i < 2 ? 0 : 1].add_number(targets[i], numbers[i]);
  EXPECT_NEAR(found(values_of(pair), metric::r2).numbers[0], 0.9404166666666667,
              1e-12);
}

/// Goal: the mean of the targets does not eat up the digits of r2. Method: the
/// same rows, a million higher.
TEST(metric_values, keep_the_digits_of_r2_far_from_zero) {
  tally rows(laid_out(task::number, 0));
  for (size_t i = 0; i < targets.size(); ++i)
    rows.add_number(targets[i] + 1e6, numbers[i] + 1e6);
  EXPECT_NEAR(found(values_of(rows), metric::r2).numbers[0], 0.9404166666666667,
              1e-12);
}

TEST(metric_values, of_a_class_without_rows_are_undefined_and_say_which) {
  tally rows(laid_out(task::classes, 4));
  for (size_t i = 0; i < three_classes.labels.size(); ++i) {
    std::vector<float> outputs = three_classes.outputs[i];
    outputs.push_back(-9);
    rows.add_scores(three_classes.labels[i], outputs);
  }
  const metric_values values = values_of(rows);
  for (metric what : {metric::recall_per_class, metric::f1_per_class,
                      metric::precision_per_class, metric::roc_auc_per_class}) {
    SCOPED_TRACE(to_string(what));
    const metric_value& one = found(values, what);
    EXPECT_EQ(one.undefined, "class 3 has no rows in the test part");
    ASSERT_EQ(one.numbers.size(), 4U);
    EXPECT_TRUE(std::isnan(one.numbers[3]));
    EXPECT_FALSE(std::isnan(one.numbers[2]));
  }
  EXPECT_TRUE(std::isnan(found(values, metric::roc_auc).numbers[0]));
  // A class that is neither there nor said counts in no mean.
  EXPECT_NEAR(found(values, metric::f1_macro).numbers[0], 0.2814814814814815,
              1e-12);
  EXPECT_EQ(number_of(values, metric::roc_auc), nullptr);
  EXPECT_EQ(undefined_json(values)["roc_auc"],
            "class 3 has no rows in the test part");
  EXPECT_TRUE(values_json(values)["roc_auc"].is_null());
}

TEST(metric_values, of_one_class_alone_have_no_roc_curve) {
  tally rows(laid_out(task::classes, 2));
  rows.add_log_odds(1, 2);
  rows.add_log_odds(1, -1);
  const metric_values values = values_of(rows);
  EXPECT_EQ(found(values, metric::roc_auc).undefined,
            "all rows of the test part are of class 1");
  EXPECT_EQ(found(values, metric::average_precision).numbers[0], 1);
  EXPECT_EQ(found(values, metric::recall).numbers[0], 0.5);
}

TEST(metric_values, of_outputs_that_are_not_finite_say_so) {
  tally rows(laid_out(task::classes, 3));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  rows.add_scores(1, std::vector<float>{nan, nan, nan});
  EXPECT_THAT(found(values_of(rows), metric::log_loss).undefined,
              HasSubstr("not finite"));
}

/// Goal: what is counted instead of sorted is within its bound, and the bound
/// is small. Method: the same rows, once with room for them and once without.
TEST(metric_values, of_many_rows_are_within_their_bound) {
  const auto exact = laid_out(task::classes, 3);
  const auto counted = laid_out(task::classes, 3, ranked_max);
  ASSERT_GT(exact->ranked, 0U);
  ASSERT_EQ(counted->ranked, 0U);
  tally a(exact), b(counted);
  uint64_t state = 23;
  const auto random = [&state] { // in [-4, 4)
    state = state * 6364136223846793005U + 1442695040888963407U;
    return float(state >> 40) / float(1 << 21) - 4;
  };
  for (size_t row = 0; row < 5000; ++row) {
    const size_t label = row % 7 == 0 ? 2 : row % 2;
    std::vector<float> outputs = {random(), random(), random()};
    outputs[label] += 1;
    a.add_scores(label, outputs);
    b.add_scores(label, outputs);
  }
  const metric_values sorted = values_of(a), binned = values_of(b);
  for (metric what :
       {metric::roc_auc_per_class, metric::average_precision_per_class,
        metric::roc_auc, metric::average_precision}) {
    SCOPED_TRACE(to_string(what));
    const metric_value& is = found(binned, what);
    EXPECT_GT(is.error_max, 0);
    EXPECT_LT(is.error_max, 0.01);
    for (size_t i = 0; i < is.numbers.size(); ++i)
      EXPECT_LE(std::abs(is.numbers[i] - found(sorted, what).numbers[i]),
                is.error_max);
  }
  EXPECT_EQ(error_max_json(sorted).size(), 0U);
  EXPECT_EQ(error_max_json(binned)["roc_auc"],
            found(binned, metric::roc_auc).error_max);
}

TEST(metric_values, of_many_errors_are_within_their_bound) {
  tally a(laid_out(task::number, 0));
  tally b(laid_out(task::number, 0, ranked_max + 1));
  for (size_t row = 0; row < 4000; ++row) {
    const double error = std::exp(double(row * 37 % 1000) / 50 - 10);
    a.add_number(3, 3 + error);
    b.add_number(3, 3 + error);
  }
  const metric_values sorted = values_of(a), binned = values_of(b);
  for (metric what :
       {metric::abs_error_p50, metric::abs_error_p90, metric::abs_error_p99}) {
    SCOPED_TRACE(to_string(what));
    const metric_value& is = found(binned, what);
    const double should = found(sorted, what).numbers[0];
    EXPECT_LE(std::abs(is.numbers[0] - should), is.error_max);
    EXPECT_LT(is.error_max, should / 50);
  }
}

TEST(metric_values, survive_the_journal) {
  tally rows(laid_out(task::classes, 4));
  for (size_t i = 0; i < three_classes.labels.size(); ++i)
    rows.add_scores(three_classes.labels[i],
                    std::vector<float>{three_classes.outputs[i][0], 0, 1, -1});
  const metric_values values = values_of(rows);
  const metric_values back =
      values_of_journal(nlohmann::json::parse(journal_json(values).dump()));
  ASSERT_EQ(back.size(), values.size());
  for (size_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(back[i].what, values[i].what);
    EXPECT_EQ(back[i].undefined, values[i].undefined);
    ASSERT_EQ(back[i].numbers.size(), values[i].numbers.size());
    for (size_t k = 0; k < back[i].numbers.size(); ++k)
      EXPECT_TRUE(back[i].numbers[k] == values[i].numbers[k] ||
                  std::isnan(values[i].numbers[k]));
  }
  EXPECT_TRUE(
      values_of_journal(nlohmann::json::parse(
                            R"([{"metric":"of_a_later_build","numbers":[1],)"
                            R"("undefined":"","error_max":0}])"))
          .empty());
}

TEST(metric_values, are_lists_and_matrices_of_whole_rows_in_json) {
  tally rows = scored(laid_out(task::classes, 3), three_classes);
  const auto json = values_json(values_of(rows));
  EXPECT_EQ(json["confusion_matrix"].dump(), "[[2,1,2],[2,2,1],[1,1,0]]");
  EXPECT_EQ(json["rows_per_class"].dump(), "[5,5,2]");
  EXPECT_EQ(json["precision_per_class"].dump(), "[0.4,0.5,0.0]");
}

} // namespace
} // namespace ballast::metrics
