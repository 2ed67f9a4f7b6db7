// Goal: select_features scores columns by their mutual information with a
// class. Method: scores recorded from scikit-learn, the definition as a loop
// over random rows, and columns that say nothing.
#include "data/fitting/row_sample.hpp"
#include "tests/data/fitting/fitting_tester.hpp"

#include <cmath>
#include <map>

namespace ballast::data {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

/// Columns of numbers by name, and a text `y`.
rows_pointer scored_rows(const std::map<std::string, std::vector<double>>& all,
                         const std::vector<std::string>& classes) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& [name, values] : all) {
    arrow::DoubleBuilder builder;
    EXPECT_TRUE(builder.AppendValues(values).ok());
    fields.push_back(arrow::field(name, arrow::float64()));
    arrays.push_back(builder.Finish().ValueOrDie());
  }
  arrow::StringBuilder builder;
  EXPECT_TRUE(builder.AppendValues(classes).ok());
  fields.push_back(arrow::field("y", arrow::utf8()));
  arrays.push_back(builder.Finish().ValueOrDie());
  return with_origin(arrow::RecordBatch::Make(arrow::schema(fields),
                                              int64_t(classes.size()), arrays));
}

json information(const std::vector<std::string>& columns,
                 const json& more = json::object()) {
  json out{{"op", "select_features"},
           {"method", "mutual_information"},
           {"target", "y"},
           {"columns", columns}};
  out.update(more);
  return out;
}

double score(const fitted& one, size_t column) {
  return one.state->columns[column].numbers.at("score").at(0);
}

std::vector<std::string> texts_of(const std::vector<int>& numbers_of_classes) {
  std::vector<std::string> out;
  for (const int one : numbers_of_classes)
    out.push_back(std::to_string(one));
  return out;
}

TEST(mutual_information, is_that_of_scikit_learn_where_values_are_discrete) {
  const std::vector<double> x{0.6,  -0.7, 1.4,  -0.2, -0.8, -0.2, 1.5, 2.8,
                              0.4,  0.2,  -0.0, -0.8, -0.1, 0.6,  1.1, -0.1,
                              -1.6, 1.4,  1.2,  -1.7, 1.0,  0.2,  0.7, 1.6,
                              -0.6, 1.3,  1.0,  1.7,  2.7,  1.9,  1.5, 0.5,
                              1.6,  -1.1, 1.0,  -1.9, 2.6,  1.3,  0.6, 1.8};
  const std::vector<int> y{2, 0, 1, 0, 0, 0, 1, 1, 2, 1, 1, 2, 1, 2,
                           0, 0, 0, 1, 2, 0, 2, 1, 2, 2, 2, 2, 0, 1,
                           2, 1, 0, 2, 1, 1, 2, 0, 2, 0, 1, 0};
  std::vector<double> flag, same;
  for (const int one : y) {
    flag.push_back(one == 1 ? 1 : 0);
    same.push_back(one);
  }
  const fitted one(
      information({"x", "f", "s"}, {{"bins", 40}}),
      scored_rows({{"x", x}, {"f", flag}, {"s", same}}, texts_of(y)));
  EXPECT_NEAR(score(one, 0), 0.8292283860143888, 1e-12);
  EXPECT_NEAR(score(one, 1), 0.6305810283860146, 1e-12);
  EXPECT_NEAR(score(one, 2), 1.097992306398597, 1e-12);
}

/// Rows in which x says something of the class, if not by a line, and z
/// nothing.
struct told_rows {
  std::vector<double> x, z;
  std::vector<std::string> y;
};
told_rows told(size_t rows, uint64_t seed) {
  told_rows out;
  for (size_t i = 0; i < rows; ++i) {
    out.x.push_back(normal(counter_random(seed, 1), i));
    out.z.push_back(normal(counter_random(seed, 2), i));
    const bool far = std::abs(out.x.back()) > 1;
    const bool told = counter_random(seed, 3).unit(i) < 0.9;
    out.y.push_back(told == far ? "far" : "near");
  }
  return out;
}

TEST(mutual_information, finds_a_relation_that_correlation_does_not) {
  const told_rows all = told(4000, 5);
  const fitted one(information({"x", "z"}),
                   scored_rows({{"x", all.x}, {"z", all.z}}, all.y));
  EXPECT_GT(score(one, 0), 0.2);
  EXPECT_LT(score(one, 1), 4 * 15.0 / (2 * 4000));
  fitted chosen(information({"x", "z"}, {{"threshold", 0.1}}),
                scored_rows({{"x", all.x}, {"z", all.z}}, all.y));
  EXPECT_THAT(chosen.names(scored_rows({{"x", {1}}, {"z", {1}}}, {"far"})),
              ElementsAre("x", "y"));
}

TEST(mutual_information, cuts_many_values_into_bins_of_as_many_rows) {
  const told_rows all = told(1000, 6);
  const fitted one(information({"x"}, {{"bins", 8}}),
                   scored_rows({{"x", all.x}}, all.y));
  std::vector<size_t> order(1000);
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return all.x[a] < all.x[b]; });
  std::map<std::pair<size_t, std::string>, double> both;
  std::map<std::string, double> of_class;
  for (size_t rank = 0; rank < 1000; ++rank) {
    both[{rank / 125, all.y[order[rank]]}] += 1.0 / 1000;
    of_class[all.y[order[rank]]] += 1.0 / 1000;
  }
  double expected = 0;
  for (const auto& [where, part] : both)
    expected += part * std::log(part * 8 / of_class[where.second]);
  EXPECT_NEAR(score(one, 0), expected, 1e-12);
}

TEST(mutual_information, of_a_constant_column_is_0) {
  const told_rows all = told(100, 7);
  const rows_pointer rows =
      scored_rows({{"c", std::vector<double>(100, 3)}, {"x", all.x}}, all.y);
  EXPECT_EQ(score(fitted(information({"c", "x"}), rows), 0), 0);
  EXPECT_THAT(refused([&] { fitted one(information({"c"}), rows); }),
              HasSubstr("no column has a score above 0"));
  const rows_pointer one_class =
      scored_rows({{"x", all.x}}, std::vector<std::string>(100, "a"));
  EXPECT_THAT(refused([&] { fitted one(information({"x"}), one_class); }),
              HasSubstr("no column has a score above 0"));
}

/// Classes are numbered as they come, in each batch by itself.
TEST(mutual_information, counts_classes_that_only_some_batches_have) {
  constexpr size_t rows = 3 * size_t(fit_batch_rows);
  std::vector<double> x;
  std::vector<std::string> y;
  for (size_t i = 0; i < rows; ++i) {
    const size_t third = i / size_t(fit_batch_rows);
    y.push_back(third == 0 ? "c" : third == 1 ? "a" : i % 2 == 0 ? "b" : "a");
    x.push_back(double(y.back()[0]));
  }
  const fitted one(information({"x"}), scored_rows({{"x", x}}, y));
  const double half = 0.5, third = 1.0 / 3, sixth = 1.0 / 6;
  EXPECT_NEAR(score(one, 0),
              -half * std::log(half) - third * std::log(third) -
                  sixth * std::log(sixth),
              1e-12);
}

TEST(row_sample, keeps_all_rows_that_fit_and_of_more_the_same_ones) {
  row_sample all(100, 2), once(10, 2), first(10, 2), second(10, 2);
  for (uint64_t i = 0; i < 100; ++i) {
    const double row[] = {double(i), -double(i)};
    all.add(i, row);
    once.add(i, row);
    (i < 37 ? first : second).add(i, row);
  }
  first.merge(second);
  once.merge(row_sample(10, 2));
  EXPECT_EQ(all.rows(), 100u);
  EXPECT_EQ(once.rows(), 10u);
  EXPECT_EQ(once.values(), first.values());
  EXPECT_TRUE(std::is_sorted(
      once.values().begin(), once.values().end(),
      [](double a, double b) { return std::abs(a) < std::abs(b); }));
}

} // namespace
} // namespace ballast::data
