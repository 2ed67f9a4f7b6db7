// Goal: each operator makes of rows what it says, of the training rows and of
// others; what it cannot take it refuses with row, column and remedy. Method:
// small tables; values that others give are in
// recorded_values_test.cpp.
#include "runtime/base/errors.hpp"
#include "tests/data/fitting/fitting_tester.hpp"

#include <cmath>

namespace ballast::data {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> x{"x"};

TEST(standardize, takes_mean_and_deviation_of_training_rows_alone) {
  fitted one({{"op", "standardize"}, {"columns", x}},
             numbers(x, R"([{"x":1},{"x":3}])"));
  EXPECT_THAT(one.lines(numbers(x, R"([{"x":1},{"x":2},{"x":7}])")),
              ElementsAre("-1", "0", "5"));
  EXPECT_EQ(one.state->rows, 2u);
  EXPECT_EQ(one.state->columns[0].values, 2u);
}

TEST(standardize, divides_a_constant_column_by_1_and_says_so) {
  fitted one({{"op", "standardize"}, {"columns", x}},
             numbers(x, R"([{"x":5},{"x":5}])"));
  EXPECT_THAT(one.lines(numbers(x, R"([{"x":5},{"x":6}])")),
              ElementsAre("0", "1"));
  EXPECT_THAT(one.state->columns[0].note, HasSubstr("same in all training"));
}

TEST(standardize, refuses_what_is_no_number_by_row_and_column) {
  const json node{{"op", "standardize"}, {"columns", x}};
  EXPECT_EQ(
      refused([&] { fitted(node, numbers(x, R"([{"x":1},{"x":null}])")); }),
      "the node: row 2, column 'x': the value is missing; "
      "\"standardize\" needs one in every row: put an \"impute\" of the "
      "column before /data/graph/2");
  fitted one(node, numbers(x, R"([{"x":1},{"x":2}])"));
  EXPECT_THAT(refused([&] { one.rows(numbers(x, R"([{"x":1},{"x":null}])")); }),
              HasSubstr("row 2, column 'x': the value is missing"));
  EXPECT_THAT(refused([&] { fitted(node, texts(R"([{"t":"a"}])")); }),
              HasSubstr("/data/graph/2/columns: there is no column 'x'"));
  EXPECT_THAT(
      refused([&] {
        fitted({{"op", "standardize"}, {"columns", {"t"}}},
               texts(R"([{"t":"a"}])"));
      }),
      HasSubstr("'t' has the type string; \"standardize\" needs numbers"));
  EXPECT_THAT(refused([&] {
                fitted({{"op", "standardize"}, {"columns", {"x", "x"}}},
                       numbers(x, R"([{"x":1}])"));
              }),
              HasSubstr("'x' is named twice"));
}

TEST(fitting, refuses_no_rows) {
  EXPECT_THAT(
      refused([&] {
        fitted({{"op", "min_max"}, {"columns", x}}, numbers(x, "[]"));
      }),
      HasSubstr("/data/graph/2: \"min_max\" has no rows to learn from"));
}

TEST(fitting, refuses_infinite_numbers) {
  arrow::DoubleBuilder builder;
  ASSERT_TRUE(builder.AppendValues({1, INFINITY}).ok());
  const auto rows = with_origin(arrow::RecordBatch::Make(
      arrow::schema({arrow::field("x", arrow::float64())}), 2,
      {builder.Finish().ValueOrDie()}));
  for (const char* op : {"impute", "robust", "clip_outliers"})
    EXPECT_THAT(refused([&] {
                  fitted({{"op", op}, {"columns", x}}, rows);
                }),
                HasSubstr("row 2, column 'x': the number is infinite"))
        << op;
}

TEST(fitting, refuses_numbers_of_which_nothing_finite_can_be_learned) {
  const auto refusal = [](const json& more, const char* rows) {
    json node{{"columns", x}};
    node.update(more);
    return refused([&] { fitted(node, numbers(x, rows)); });
  };
  const char* large = R"([{"x":1e200},{"x":-1e200},{"x":1e200}])";
  EXPECT_EQ(
      refusal({{"op", "standardize"}}, large),
      "/data/graph/2: column 'x' has numbers that are too large: what "
      "\"standardize\" learns of them is beyond float64; expected smaller "
      "ones: put \"clip_outliers\" or \"quantile\" or \"log\" before it, "
      "or \"derive\" the column divided by a number");
  EXPECT_THAT(refusal({{"op", "pca"}, {"components", 1}}, large),
              HasSubstr("/data/graph/2: column 'x' has numbers that are too"));
  EXPECT_THAT(refusal({{"op", "clip_outliers"}, {"method", "z"}}, large),
              HasSubstr("put \"quantile\" or \"log\" before it"));
  const char* largest = R"([{"x":1e308},{"x":-1e308},{"x":1.5e308},{"x":0},
                            {"x":-1.5e308}])";
  for (const char* op : {"standardize", "robust", "min_max", "power", "bin"})
    EXPECT_THAT(refusal({{"op", op}}, largest),
                HasSubstr("column 'x' has numbers that are too large: what \"" +
                          std::string(op) + "\" learns"));
  EXPECT_THAT(refusal({{"op", "impute"}}, R"([{"x":1.7e308},{"x":1.7e308}])"),
              HasSubstr("has numbers that are too large"));
}

TEST(min_max, brings_least_and_largest_to_its_range_exactly) {
  fitted one({{"op", "min_max"}, {"columns", x}, {"low", -1.0}},
             numbers(x, R"([{"x":10},{"x":30}])"));
  EXPECT_THAT(one.lines(numbers(x, R"([{"x":10},{"x":20},{"x":30},{"x":40}])")),
              ElementsAre("-1", "0", "1", "2"));
  fitted clipped(
      {{"op", "min_max"}, {"columns", x}, {"low", -1.0}, {"clip", true}},
      numbers(x, R"([{"x":10},{"x":30}])"));
  EXPECT_THAT(clipped.lines(numbers(x, R"([{"x":0},{"x":40}])")),
              ElementsAre("-1", "1"));
  EXPECT_THAT(refused(
                  [&] {
                    terms_of({{"op", "min_max"}, {"columns", x}, {"low", 1.0}});
                    fitted({{"op", "min_max"}, {"columns", x}, {"low", 1.0}},
                           numbers(x, "[]"));
                  },
                  errc::invalid_job),
              HasSubstr("/data/graph/2/low: expected less than \"high\""));
}

TEST(max_abs, divides_by_the_largest_absolute_value) {
  fitted one({{"op", "max_abs"}, {"columns", x}},
             numbers(x, R"([{"x":-4},{"x":2}])"));
  EXPECT_THAT(one.lines(numbers(x, R"([{"x":-4},{"x":2}])")),
              ElementsAre("-1", "0.5"));
}

TEST(robust, goes_by_median_and_quartiles) {
  fitted one({{"op", "robust"}, {"columns", x}},
             numbers(x, R"([{"x":1},{"x":2},{"x":3},{"x":4},{"x":1000}])"));
  EXPECT_THAT(one.lines(numbers(x, R"([{"x":3},{"x":5}])")),
              ElementsAre("0", "1"));
}

TEST(impute, fills_numbers_by_mean_median_mode_and_constant) {
  const auto rows =
      numbers(x, R"([{"x":1},{"x":1},{"x":2},{"x":8},{"x":null}])");
  const auto filled = [&](json node) {
    node["op"] = "impute";
    node["columns"] = x;
    return fitted(node, rows).lines(rows).back();
  };
  EXPECT_EQ(filled({{"strategy", "mean"}}), "3");
  EXPECT_EQ(filled({{"strategy", "median"}}), "1.5");
  EXPECT_EQ(filled({{"strategy", "mode"}}), "1");
  EXPECT_EQ(filled({{"strategy", "constant"}, {"value", "-7.5"}}), "-7.5");
  EXPECT_EQ(filled({{"strategy", "forward"}}), "8");
  EXPECT_EQ(filled({{"strategy", "mean"}, {"indicator", true}}), "3 1");
}

TEST(impute, takes_a_nan_for_a_missing_value) {
  arrow::DoubleBuilder builder;
  ASSERT_TRUE(builder.AppendValues({2, NAN, 4}).ok());
  const auto rows = with_origin(arrow::RecordBatch::Make(
      arrow::schema({arrow::field("x", arrow::float64())}), 3,
      {builder.Finish().ValueOrDie()}));
  for (const auto& [strategy, expected] : std::map<std::string, std::string>{
           {"mean", "3"}, {"forward", "2"}, {"mode", "2"}})
    EXPECT_EQ(
        fitted({{"op", "impute"}, {"columns", x}, {"strategy", strategy}}, rows)
            .lines(rows)[1],
        expected)
        << strategy;
  fitted drop({{"op", "impute"}, {"columns", x}, {"strategy", "drop"}}, rows);
  EXPECT_THAT(drop.lines(rows), ElementsAre("2", "4"));
  EXPECT_THAT(drop.notes,
              ElementsAre("/data/graph/2: \"impute\" left out 1 of 3 rows"));
}

TEST(impute, fills_text_and_keeps_the_type_of_whole_numbers) {
  const auto rows = texts(R"([{"t":"b"},{"t":"a"},{"t":null}])");
  EXPECT_THAT(
      fitted({{"op", "impute"}, {"columns", {"t"}}, {"strategy", "mode"}}, rows)
          .lines(rows),
      ElementsAre("b", "a", "a"))
      << "the first in order of those as often";
  const auto whole = rows_of({arrow::field("n", arrow::int64())},
                             R"([{"n":10},{"n":9},{"n":null}])");
  EXPECT_THAT(
      fitted({{"op", "impute"}, {"columns", {"n"}}, {"strategy", "mode"}},
             whole)
          .lines(whole),
      ElementsAre("10", "9", "9"))
      << "by number, not by text";
  EXPECT_THAT(refused([&] {
                fitted({{"op", "impute"},
                        {"columns", {"n"}},
                        {"strategy", "constant"},
                        {"value", "none"}},
                       whole);
              }),
              HasSubstr("/data/graph/2/value: 'none' is none of column 'n', "
                        "which is int64"));
}

TEST(impute, refuses_a_constant_that_is_no_finite_number) {
  const auto rows = numbers(x, R"([{"x":null},{"x":2}])");
  for (const char* value : {"nan", "inf", "1e999"})
    EXPECT_THAT(refused([&] {
                  fitted({{"op", "impute"},
                          {"columns", x},
                          {"strategy", "constant"},
                          {"value", value}},
                         rows);
                }),
                HasSubstr("/data/graph/2/value: '" + std::string(value) +
                          "' is no finite number of column 'x', which is "
                          "double; expected one such as 0"));
  const auto words = texts(R"([{"t":null}])");
  EXPECT_THAT(fitted({{"op", "impute"},
                      {"columns", {"t"}},
                      {"strategy", "constant"},
                      {"value", "nan"}},
                     words)
                  .lines(words),
              ElementsAre("nan"))
      << "a text like any other";
}

TEST(impute, refuses_what_it_cannot_fill) {
  const auto rows = numbers(x, R"([{"x":null},{"x":null}])");
  EXPECT_THAT(refused([&] {
                fitted({{"op", "impute"}, {"columns", x}}, rows);
              }),
              HasSubstr("column 'x' has no value in any of the 2 training "
                        "rows"));
  fitted forward({{"op", "impute"}, {"columns", x}, {"strategy", "forward"}},
                 rows);
  EXPECT_THAT(refused([&] { forward.rows(rows); }),
              HasSubstr("row 1, column 'x': the value is missing, and no row "
                        "before it has one"));
  EXPECT_THAT(
      refused([&] {
        fitted({{"op", "impute"}, {"columns", {"t"}}}, texts(R"([{"t":"a"}])"));
      }),
      HasSubstr("\"impute\" needs numbers"))
      << "the mean of text";
}

TEST(impute, carries_a_value_into_the_next_batch) {
  const auto rows = numbers(x, R"([{"x":1},{"x":null},{"x":null},{"x":2}])");
  fitted one({{"op", "impute"}, {"columns", x}, {"strategy", "forward"}}, rows);
  EXPECT_THAT(column_of(*one.rows(rows, false, 7, 1), "x"),
              ElementsAre(1, 1, 1, 2));
}

TEST(clip_outliers, clips_marks_and_removes_what_lies_far_off) {
  const auto rows =
      numbers(x, R"([{"x":1},{"x":2},{"x":3},{"x":4},{"x":5},{"x":100}])");
  json node{{"op", "clip_outliers"}, {"columns", x}, {"method", "iqr"}};
  EXPECT_THAT(fitted(node, rows).lines(rows),
              ElementsAre("1", "2", "3", "4", "5", "8.5"));
  node["action"] = "mark";
  fitted mark(node, rows);
  EXPECT_THAT(mark.names(rows), ElementsAre("x", "x_outlier"));
  EXPECT_EQ(mark.lines(rows).back(), "100 1");
  node["action"] = "remove";
  fitted remove(node, rows);
  EXPECT_EQ(remove.lines(rows).size(), 5u);
  EXPECT_THAT(remove.notes, ElementsAre(HasSubstr("left out 1 of 6 rows")));
  node["method"] = "mad";
  EXPECT_EQ(fitted(node, rows).lines(rows).size(), 5u);
  node["method"] = "z";
  node["limit"] = 2.0;
  EXPECT_EQ(fitted(node, rows).lines(rows).size(), 5u);
  node["limit"] = 1e9;
  EXPECT_EQ(fitted(node, rows).lines(rows).size(), 6u);
}

TEST(clip_outliers, that_removes_all_rows_says_so) {
  fitted one({{"op", "clip_outliers"}, {"columns", x}, {"action", "remove"}},
             numbers(x, R"([{"x":1},{"x":1}])"));
  EXPECT_THAT(one.lines(numbers(x, R"([{"x":5}])")), testing::IsEmpty());
  EXPECT_THAT(one.notes, ElementsAre(HasSubstr("left out 1 of 1 rows")));
}

TEST(one_hot, has_a_column_for_each_category_in_order) {
  const auto rows = texts(R"([{"t":"b"},{"t":"a"},{"t":"b"}])");
  fitted one({{"op", "one_hot"}, {"columns", {"t"}}}, rows);
  EXPECT_THAT(one.names(rows), ElementsAre("t_a", "t_b"));
  EXPECT_THAT(one.lines(rows), ElementsAre("0 1", "1 0", "0 1"));
  fitted less({{"op", "one_hot"}, {"columns", {"t"}}, {"drop_first", true}},
              rows);
  EXPECT_THAT(less.lines(rows), ElementsAre("1", "0", "1"));
  const auto whole =
      rows_of({arrow::field("n", arrow::int64())}, R"([{"n":10},{"n":9}])");
  EXPECT_THAT(
      fitted({{"op", "one_hot"}, {"columns", {"n"}}}, whole).names(whole),
      ElementsAre("n_9", "n_10"));
}

TEST(one_hot, does_with_an_unseen_category_what_it_is_told) {
  const auto rows = texts(R"([{"t":"b"},{"t":"a"}])");
  const auto other = texts(R"([{"t":"a"},{"t":"c"}])");
  json node{{"op", "one_hot"}, {"columns", {"t"}}};
  EXPECT_EQ(refused([&] { fitted(node, rows).rows(other); }),
            "the node: row 2, column 't': the category is in no training row "
            "of \"one_hot\"; expected one of 'a', 'b', or \"unseen\": "
            "\"ignore\" or \"other\" in /data/graph/2 (it is 'c')");
  node["unseen"] = "ignore";
  EXPECT_THAT(fitted(node, rows).lines(other), ElementsAre("1 0", "0 0"));
  node["unseen"] = "other";
  fitted with_other(node, rows);
  EXPECT_THAT(with_other.names(other), ElementsAre("t_a", "t_b", "t_other"));
  EXPECT_THAT(with_other.lines(other), ElementsAre("1 0 0", "0 0 1"));
}

TEST(one_hot, refuses_a_category_that_is_called_as_the_unseen_ones) {
  const auto rows = texts(R"([{"t":"other"},{"t":"a"}])");
  EXPECT_THAT(
      refused([&] {
        fitted({{"op", "one_hot"}, {"columns", {"t"}}, {"unseen", "other"}},
               rows);
      }),
      HasSubstr("/data/graph/2/unseen: column 't' has a category "
                "'other', whose column would be 't_other' as that of "
                "the unseen ones; take \"ignore\""));
  EXPECT_THAT(fitted({{"op", "one_hot"}, {"columns", {"t"}}}, rows).names(rows),
              ElementsAre("t_a", "t_other"));
}

TEST(one_hot, refuses_too_many_categories_missing_ones_and_names_twice) {
  const auto rows = texts(R"([{"t":"b"},{"t":"a"}])");
  EXPECT_THAT(
      refused([&] {
        fitted({{"op", "one_hot"}, {"columns", {"t"}}, {"categories_max", 1}},
               rows);
      }),
      HasSubstr("/data/graph/2/categories_max: column 't' has 2 "
                "categories"));
  EXPECT_THAT(refused([&] {
                fitted({{"op", "one_hot"}, {"columns", {"t"}}},
                       texts(R"([{"t":null}])"));
              }),
              HasSubstr("row 1, column 't': the value is missing"));
  const auto two = rows_of(
      {arrow::field("t", arrow::utf8()), arrow::field("t_a", arrow::float64())},
      R"([{"t":"a","t_a":1}])");
  EXPECT_THAT(refused([&] {
                fitted({{"op", "one_hot"}, {"columns", {"t"}}}, two).rows(two);
              }),
              HasSubstr("two columns would be 't_a'"));
}

TEST(ordinal, numbers_categories_in_their_order) {
  const auto rows = texts(R"([{"t":"b"},{"t":"a"},{"t":"c"}])");
  const auto other = texts(R"([{"t":"z"}])");
  json node{{"op", "ordinal"}, {"columns", {"t"}}, {"unseen", "ignore"}};
  EXPECT_THAT(fitted(node, rows).lines(rows), ElementsAre("1", "0", "2"));
  EXPECT_THAT(fitted(node, rows).lines(other), ElementsAre("-1"));
  node["unseen"] = "other";
  EXPECT_THAT(fitted(node, rows).lines(other), ElementsAre("3"));
}

TEST(hash_encode, gives_a_category_one_number_below_its_buckets) {
  const auto rows = texts(R"([{"t":"b"},{"t":"a"},{"t":"b"}])");
  fitted one({{"op", "hash_encode"}, {"columns", {"t"}}, {"buckets", 1000}},
             texts("[]"));
  const std::vector<std::string> lines = one.lines(rows);
  EXPECT_EQ(lines[0], lines[2]);
  EXPECT_NE(lines[0], lines[1]);
  EXPECT_LT(std::stoi(lines[0]), 1000);
  EXPECT_EQ(one.state->rows, 0u) << "it learns nothing";
}

TEST(target_encode, knows_of_a_training_row_all_targets_but_its_fold_s) {
  std::string json_rows;
  for (int i = 0; i < 40; ++i)
    json_rows += std::string(i == 0 ? "" : ",") + R"({"t":")" +
                 (i % 2 == 0 ? "a" : "b") + R"(","y":)" + std::to_string(i) +
                 "}";
  const auto rows = rows_of(
      {arrow::field("t", arrow::utf8()), arrow::field("y", arrow::float64())},
      "[" + json_rows + "]");
  fitted one({{"op", "target_encode"},
              {"columns", {"t"}},
              {"target", "y"},
              {"smooth", 0.0},
              {"unseen", "ignore"}},
             rows);
  const std::vector<double> others = column_of(*one.rows(rows), "t");
  EXPECT_DOUBLE_EQ(others[0], 19) << "the mean of 0, 2, ..., 38";
  EXPECT_DOUBLE_EQ(others[1], 20);
  const std::vector<double> own = column_of(*one.rows(rows, true), "t");
  for (size_t i = 0; i < own.size(); ++i) {
    double sum = 0;
    double count = 0;
    for (size_t k = i % 2; k < own.size(); k += 2)
      if (fold_of(k, 5, 7) != fold_of(i, 5, 7)) {
        sum += double(k);
        ++count;
      }
    EXPECT_DOUBLE_EQ(own[i], sum / count) << i;
  }
  const auto unseen =
      rows_of({arrow::field("t", arrow::utf8())}, R"([{"t":"c"}])");
  EXPECT_DOUBLE_EQ(column_of(*one.rows(unseen), "t")[0], 19.5)
      << "rows that are changed need no target";
}

TEST(bin, numbers_bins_by_rank_or_by_width) {
  const auto rows =
      numbers(x, R"([{"x":0},{"x":1},{"x":2},{"x":3},{"x":100}])");
  json node{{"op", "bin"}, {"columns", x}, {"bins", 2}};
  EXPECT_THAT(fitted(node, rows).lines(rows),
              ElementsAre("0", "0", "1", "1", "1"));
  node["method"] = "equal_width";
  EXPECT_THAT(fitted(node, rows).lines(rows),
              ElementsAre("0", "0", "0", "0", "1"));
  EXPECT_THAT(fitted(node, rows).lines(numbers(x, R"([{"x":-9},{"x":999}])")),
              ElementsAre("0", "1"))
      << "beyond the training rows";
}

TEST(log, refuses_what_has_no_logarithm) {
  fitted one({{"op", "log"}, {"columns", x}, {"offset", 1.0}},
             numbers(x, "[]"));
  EXPECT_THAT(one.lines(numbers(x, R"([{"x":0}])")), ElementsAre("0"));
  EXPECT_THAT(refused([&] { one.rows(numbers(x, R"([{"x":-1}])")); }),
              HasSubstr("row 1, column 'x': the number has no logarithm"));
}

TEST(power, refuses_numbers_that_are_not_above_0_for_box_cox) {
  const json node{{"op", "power"}, {"columns", x}, {"method", "box_cox"}};
  EXPECT_THAT(
      refused([&] { fitted(node, numbers(x, R"([{"x":0},{"x":1}])")); }),
      HasSubstr("take \"yeo_johnson\""));
}

TEST(polynomial, adds_products_by_name) {
  const auto rows = numbers({"a", "b"}, R"([{"a":2,"b":3}])");
  fitted all({{"op", "polynomial"}, {"columns", {"a", "b"}}}, rows);
  EXPECT_THAT(all.names(rows), ElementsAre("a", "b", "a^2", "a b", "b^2"));
  EXPECT_THAT(all.lines(rows), ElementsAre("2 3 4 6 9"));
  fitted pairs({{"op", "polynomial"},
                {"columns", {"a", "b"}},
                {"interaction_only", true}},
               rows);
  EXPECT_THAT(pairs.names(rows), ElementsAre("a", "b", "a b"));
}

TEST(date_parts, takes_dates_and_times_apart) {
  const auto rows = rows_of({arrow::field("d", arrow::date32())},
                            R"([{"d":19753}])"); // 2024-01-31, Wednesday
  fitted one({{"op", "date_parts"},
              {"columns", {"d"}},
              {"parts", {"year", "month", "day", "weekday", "hour"}}},
             rows);
  EXPECT_THAT(one.names(rows),
              ElementsAre("d_year", "d_month", "d_day", "d_weekday", "d_hour"));
  EXPECT_THAT(one.lines(rows), ElementsAre("2024 1 31 2 0"));
}

TEST(select_features, keeps_columns_that_vary_or_tell_of_the_target) {
  const auto rows = numbers({"a", "b", "y"},
                            R"([{"a":1,"b":5,"y":1},{"a":2,"b":5,"y":2},
                                {"a":3,"b":5,"y":4}])");
  fitted varied({{"op", "select_features"}, {"columns", {"a", "b"}}}, rows);
  EXPECT_THAT(varied.names(rows), ElementsAre("a", "y"));
  fitted told({{"op", "select_features"},
               {"columns", {"a", "b"}},
               {"method", "correlation"},
               {"target", "y"},
               {"threshold", 0.9}},
              rows);
  EXPECT_THAT(told.names(rows), ElementsAre("a", "y"));
  EXPECT_THAT(refused([&] {
                fitted({{"op", "select_features"},
                        {"columns", {"a", "b"}},
                        {"threshold", 9.0}},
                       rows);
              }),
              HasSubstr("no column has a score above 9"));
}

TEST(pca, turns_columns_to_where_rows_vary_most) {
  const auto rows = numbers({"a", "b"}, R"([{"a":0,"b":0},{"a":1,"b":1},
                                            {"a":2,"b":2}])");
  fitted one({{"op", "pca"}, {"columns", {"a", "b"}}, {"components", 1}}, rows);
  EXPECT_THAT(one.names(rows), ElementsAre("pca_1"));
  const std::vector<double> found = column_of(*one.rows(rows), "pca_1");
  EXPECT_NEAR(found[0], -std::sqrt(2), 1e-12);
  EXPECT_NEAR(found[2], std::sqrt(2), 1e-12);
  EXPECT_NEAR(one.state->numbers.at("variance_part")[0], 1, 1e-12);
}

} // namespace
} // namespace ballast::data
