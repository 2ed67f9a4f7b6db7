// Goal: `impute` with strategy "knn" fills a missing number from the nearest
// training rows that have one. Method: values recorded from scikit-learn's
// KNNImputer, the definition as a loop over random rows, and rows that are hard
// for it.
#include "tests/data/fitting/fitting_tester.hpp"

#include <cmath>
#include <limits>

namespace ballast::data {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr double gap = std::numeric_limits<double>::quiet_NaN();
const std::vector<std::string> names{"a", "b", "c", "d", "e", "f"};

/// Row after row; NaN: missing, as null.
rows_pointer gapped_rows(const std::vector<double>& values, size_t columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (size_t c = 0; c < columns; ++c) {
    arrow::DoubleBuilder builder;
    for (size_t i = c; i < values.size(); i += columns)
      EXPECT_TRUE((std::isnan(values[i]) ? builder.AppendNull()
                                         : builder.Append(values[i]))
                      .ok());
    fields.push_back(arrow::field(names[c], arrow::float64()));
    arrays.push_back(builder.Finish().ValueOrDie());
  }
  return with_origin(arrow::RecordBatch::Make(
      arrow::schema(fields), int64_t(values.size() / columns), arrays));
}

json knn_node(size_t columns, const json& more = json::object()) {
  json out{{"op", "impute"},
           {"strategy", "knn"},
           {"columns", std::vector<std::string>(
                           names.begin(), names.begin() + long(columns))}};
  out.update(more);
  return out;
}

std::vector<double> filled_rows(const json& node,
                                const std::vector<double>& training,
                                const std::vector<double>& given,
                                size_t columns) {
  fitted one(node, gapped_rows(training, columns));
  const auto rows = one.rows(gapped_rows(given, columns));
  std::vector<double> out(given.size());
  for (size_t c = 0; c < columns; ++c) {
    const std::vector<double> column = column_of(*rows, names[c]);
    for (size_t i = 0; i < column.size(); ++i)
      out[i * columns + c] = column[i];
  }
  return out;
}

const std::vector<double> known{
    gap,    -0.99, gap,   -0.13, gap,    gap,   -9.09, -0.3,  0.19,   -0.99,
    gap,    -0.1,  -0.36, 1.81,  -16.65, -0.35, 1.15,  gap,   -15.11, 0.32,
    -0.98,  -2.57, gap,   -0.21, 1.0,    2.14,  0.59,  -0.18, 0.0,    -0.32,
    7.93,   -0.32, -0.01, -0.3,  -0.52,  0.12,  0.2,   4.0,   -0.87,  0.78,
    -0.31,  -1.43, 1.01,  0.18,  0.27,   3.88,  gap,   0.25,  gap,    -0.3,
    14.13,  0.11,  -1.31, -2.07, -5.78,  0.58,  -0.11, 6.78,  6.57,   0.06,
    -0.44,  2.92,  -2.41, -0.41, 0.57,   gap,   11.89, gap,   gap,    gap,
    -18.78, 0.77,  1.82,  -1.28, -11.65, gap,   0.87,  -0.61, -5.98,  -0.12,
    2.09,   gap,   7.46,  0.39,  1.02,   gap,   gap,   -0.11, -0.76,  -2.13,
    11.42,  gap,   -0.08, gap,   gap,    0.39};
const std::vector<double> given{
    0.5,   gap,   gap,    0.22,  0.47, 0.3, gap, -1.19, 1.22, gap, gap, -0.32,
    -0.14, -0.67, -10.38, -0.09, 0.19, gap, gap, -0.1,  gap,  gap, gap, gap};

// clang-format off
const std::vector<double> evenly_given{
    0.5, 0.8633333333333333, 6.680000000000001, 0.22, 0.47, 0.3,
    4.613333333333333, -1.19, 1.22, 0.18000000000000005, -4.826666666666667,
    -0.32, -0.14, -0.67, -10.38, -0.09, 0.19, -0.7666666666666666,
    4.323333333333333, -0.1, 0.24100000000000002, 0.5023529411764706,
    -1.4355555555555557, 0.08190476190476191};
const std::vector<double> evenly_known{
    0.6933333333333334, -0.99, -8.906666666666666, -0.13,
    0.07666666666666667, -1.5166666666666666, -9.09, -0.3, 0.19, -0.99,
    1.2700000000000002, -0.1, -0.36, 1.81, -16.65, -0.35, 1.15,
    0.6333333333333332, -15.11, 0.32, -0.98, -2.57, -1.1500000000000001,
    -0.21, 1.0, 2.14, 0.59, -0.18, 0.0, -0.32, 7.93, -0.32, -0.01, -0.3,
    -0.52, 0.12, 0.2, 4.0, -0.87, 0.78, -0.31, -1.43, 1.01, 0.18, 0.27,
    3.88, -2.5866666666666664, 0.25, 0.3766666666666667, -0.3, 14.13, 0.11,
    -1.31, -2.07, -5.78, 0.58, -0.11, 6.78, 6.57, 0.06, -0.44, 2.92, -2.41,
    -0.41, 0.57, 0.25333333333333324, 11.89, 0.01333333333333333,
    0.12666666666666668, 0.6333333333333332, -18.78, 0.77, 1.82, -1.28,
    -11.65, -0.11333333333333333, 0.87, -0.61, -5.98, -0.12, 2.09,
    0.8566666666666666, 7.46, 0.39, 1.02, 0.18000000000000005,
    -4.826666666666667, -0.11, -0.76, -2.13, 11.42, 0.026666666666666672,
    -0.08, 1.6833333333333336, 2.3533333333333335, 0.39};
const std::vector<double> weighted_given{
    0.5, 0.9686760902347443, 10.74726010296428, 0.22, 0.47, 0.3,
    9.753483676410186, -1.19, 1.22, 0.29977711218564096, -8.014042667817112,
    -0.32, -0.14, -0.67, -10.38, -0.09, 0.19, -0.99, 4.130424512682951,
    -0.1, 0.24100000000000002, 0.5023529411764706, -1.4355555555555557,
    0.08190476190476191};
const std::vector<double> weighted_known{
    0.6265405728469523, -0.99, -8.879852190470599, -0.13,
    -0.21383036935719066, -1.7882169390789193, -9.09, -0.3, 0.19, -0.99,
    -1.1705413319141629, -0.1, -0.36, 1.81, -16.65, -0.35, 1.15,
    0.5179182196410915, -15.11, 0.32, -0.98, -2.57, -4.9747595375208835,
    -0.21, 1.0, 2.14, 0.59, -0.18, 0.0, -0.32, 7.93, -0.32, -0.01, -0.3,
    -0.52, 0.12, 0.2, 4.0, -0.87, 0.78, -0.31, -1.43, 1.01, 0.18, 0.27,
    3.88, 0.09119946577029656, 0.25, 0.46867972204669556, -0.3, 14.13, 0.11,
    -1.31, -2.07, -5.78, 0.58, -0.11, 6.78, 6.57, 0.06, -0.44, 2.92, -2.41,
    -0.41, 0.57, 1.1758379110512114, 11.89, 0.039785714285707346,
    0.09240668978176884, 1.2485875308207406, -18.78, 0.77, 1.82, -1.28,
    -11.65, -0.12088225887769431, 0.87, -0.61, -5.98, -0.12, 2.09,
    0.2471912995059508, 7.46, 0.39, 1.02, -0.17337124338389018,
    -2.716911434468413, -0.11, -0.76, -2.13, 11.42, -0.023682445617611715,
    -0.08, 1.5074706363360522, 2.160821461549177, 0.39};
// clang-format on

void expect_recorded_rows(const json& node, const std::vector<double>& rows,
                          const std::vector<double>& expected) {
  const std::vector<double> found = filled_rows(node, known, rows, 4);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-9 * (1 + std::abs(expected[i]))) << i;
}

TEST(neighbour_impute, fills_as_recorded_of_scikit_learn) {
  const json even = knn_node(4, {{"neighbors", 3}});
  expect_recorded_rows(even, given, evenly_given);
  expect_recorded_rows(even, known, evenly_known);
  const json weighted =
      knn_node(4, {{"neighbors", 3}, {"weights", "distance"}});
  expect_recorded_rows(weighted, given, weighted_given);
  expect_recorded_rows(weighted, known, weighted_known);
}

/// The definition, for one cell.
double cell_of(const std::vector<double>& rows, const double* row, size_t c,
               size_t columns, size_t k, bool by_distance) {
  std::vector<std::pair<double, size_t>> near;
  double mean = 0, count = 0;
  for (size_t i = 0; i * columns < rows.size(); ++i) {
    const double* other = rows.data() + i * columns;
    if (std::isnan(other[c]))
      continue;
    mean += other[c];
    ++count;
    double sum = 0, common = 0;
    for (size_t t = 0; t < columns; ++t)
      if (!std::isnan(row[t]) && !std::isnan(other[t])) {
        sum += std::pow(row[t] - other[t], 2);
        ++common;
      }
    if (common > 0)
      near.emplace_back(std::sqrt(sum * double(columns) / common), i);
  }
  if (near.empty())
    return mean / count;
  std::sort(near.begin(), near.end());
  near.resize(std::min(k, near.size()));
  double sum = 0, weights = 0;
  for (const auto& [distance, i] : near) {
    const double weight = by_distance ? 1 / distance : 1;
    sum += weight * rows[i * columns + c];
    weights += weight;
  }
  return sum / weights;
}

TEST(neighbour_impute, follows_the_definition_on_random_rows) {
  for (const size_t columns : {1, 2, 6})
    for (const double share : {0.1, 0.6})
      for (const bool by_distance : {false, true}) {
        const counter_random random(91, columns);
        std::vector<double> all;
        for (size_t i = 0; i < 300 * columns; ++i)
          all.push_back(random.unit(3 * i) < share
                            ? gap
                            : normal(counter_random(92, 1), i) *
                                  double(1 + i % columns));
        const std::vector<double> found = filled_rows(
            knn_node(columns,
                     {{"weights", by_distance ? "distance" : "uniform"}}),
            all, all, columns);
        for (size_t i = 0; i < all.size(); ++i) {
          const double expected =
              std::isnan(all[i])
                  ? cell_of(all, all.data() + i / columns * columns,
                            i % columns, columns, 5, by_distance)
                  : all[i];
          ASSERT_NEAR(found[i], expected, 1e-9 * (1 + std::abs(expected)))
              << columns << " columns, cell " << i;
        }
      }
}

TEST(neighbour_impute, takes_the_mean_where_no_row_has_a_distance) {
  EXPECT_EQ(filled_rows(knn_node(2), {1, gap, 3, gap, gap, 8}, {gap, gap}, 2),
            (std::vector<double>{2, 8}));
}

TEST(neighbour_impute, of_fewer_rows_than_neighbours_takes_all) {
  EXPECT_EQ(filled_rows(knn_node(2), {1, 10, 2, 20, 3, 60}, {2, gap}, 2),
            (std::vector<double>{2, 30}));
}

TEST(neighbour_impute, of_constant_columns_and_equal_rows_has_their_value) {
  for (const char* weights : {"uniform", "distance"})
    EXPECT_EQ(filled_rows(knn_node(2, {{"weights", weights}}),
                          {1, 5, 1, 5, 1, 5}, {1, gap, 7, gap}, 2),
              (std::vector<double>{1, 5, 7, 5}))
        << weights;
}

TEST(neighbour_impute, marks_what_was_missing_and_takes_whole_numbers) {
  fitted one(knn_node(2, {{"indicator", true}}),
             rows_of({arrow::field("a", arrow::int64()),
                      arrow::field("b", arrow::boolean())},
                     R"([{"a":1,"b":true},{"a":3,"b":false}])"));
  EXPECT_EQ(one.lines(rows_of({arrow::field("a", arrow::int64()),
                               arrow::field("b", arrow::boolean())},
                              R"([{"a":null,"b":true},{"a":1,"b":null}])")),
            (std::vector<std::string>{"2 1 1 0", "1 0.5 0 1"}));
}

TEST(neighbour_impute, draws_rows_where_there_are_more_than_are_kept) {
  std::vector<double> all;
  for (int i = 0; i < 1000; ++i) {
    all.push_back(i);
    all.push_back(i);
  }
  const rows_pointer rows = gapped_rows(all, 2);
  fitted few(knn_node(2, {{"donors", 50}, {"neighbors", 1}}), rows);
  ASSERT_EQ(few.state->numbers.at("donors").size(), 100u);
  EXPECT_THAT(few.state->columns[0].note,
              HasSubstr("filled from 50 of 1000 training rows"));
  double mean = 0;
  for (const double one : few.state->numbers.at("donors"))
    mean += one / 100;
  EXPECT_NEAR(mean, 500, 5 * 289 / std::sqrt(50.0)) << "not the first ones";
  fitted in_small_batches(knn_node(2, {{"donors", 50}, {"neighbors", 1}}), rows,
                          3, 7);
  EXPECT_EQ(in_small_batches.state->numbers, few.state->numbers);
}

TEST(neighbour_impute, refuses_what_has_no_distance) {
  const auto said = [](const rows_pointer& training,
                       const rows_pointer& given_rows) {
    return refused([&] {
      fitted one(knn_node(2), training);
      one.rows(given_rows);
    });
  };
  const rows_pointer good = numbers({"a", "b"}, R"([{"a":1,"b":2}])");
  EXPECT_THAT(said(numbers({"a", "b"}, R"([{"a":1,"b":null}])"), good),
              HasSubstr("column 'b' has no value in any of the 1 training"));
  EXPECT_THAT(said(numbers({"a", "b"}, R"([{"a":1e200,"b":2}])"), good),
              HasSubstr("column 'a' has numbers beyond 1e150"));
  EXPECT_THAT(said(good, numbers({"a", "b"}, R"([{"a":-1e200,"b":null}])")),
              AllOf(HasSubstr("column 'a'"), HasSubstr("beyond 1e150")));
  EXPECT_THAT(
      said(rows_of({arrow::field("a", arrow::utf8()),
                    arrow::field("b", arrow::float64())},
                   R"([{"a":"x","b":2}])"),
           good),
      AllOf(HasSubstr("'a' has the type string"), HasSubstr("needs numbers")));
}

} // namespace
} // namespace ballast::data
