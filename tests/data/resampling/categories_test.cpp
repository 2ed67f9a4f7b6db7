// Goal: methods that take categories add as many rows as are wanted, with
// numbers and categories as their rules say. Method: random rows, the rules as
// loops over all rows.
#include "tests/data/resampling/some_rows.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace ballast::data {
namespace {

/// Numbers and categories; a category says something of the class.
struct mixed_rows {
  some_points points;
  std::vector<uint32_t> counts, codes;

  labelled_rows labelled_() const {
    labelled_rows out = labelled(points);
    out.categories = {codes, counts};
    return out;
  }
  std::span<const uint32_t> at(uint32_t row) const {
    return labelled_().categories.at(row);
  }
  resampled_rows resampled_by(const std::string& method,
                              const std::vector<std::string>& options = {},
                              size_t threads = 1) const {
    return resample(labelled_(), order_of(method, options), 7,
                    {.threads = threads});
  }
};

mixed_rows some_mixed(size_t rows, uint32_t classes, uint64_t seed,
                      std::vector<uint32_t> counts = {2, 5, 1, 9}) {
  mixed_rows out{normal_points(rows, 4, classes, seed), std::move(counts), {}};
  const counter_random random(seed, 9);
  for (size_t i = 0; i < rows; ++i)
    for (size_t c = 0; c < out.counts.size(); ++c) {
      const uint64_t which = 2 * (i * out.counts.size() + c);
      const bool follows = random.unit(which) < 0.3;
      out.codes.push_back(
          follows ? out.points.of_row[i] % out.counts[c]
                  : uint32_t(random.below(out.counts[c], which + 1)));
    }
  return out;
}

mixed_rows only_categories(size_t rows, uint32_t classes, uint64_t seed) {
  mixed_rows out = some_mixed(rows, classes, seed, {3, 4, 6, 2, 5, 7});
  out.points.columns = 0;
  out.points.values.clear();
  return out;
}

std::vector<uint32_t> rows_of_class(const mixed_rows& all, uint32_t of_class) {
  return by_class(all.points.of_row, all.points.classes)[of_class];
}

double median_deviation(const mixed_rows& all, uint32_t of_class) {
  std::vector<double> out;
  const std::vector<uint32_t> rows = rows_of_class(all, of_class);
  for (size_t c = 0; c < all.points.columns; ++c) {
    double mean = 0, squares = 0;
    for (const uint32_t row : rows)
      mean += all.points.view().at(row)[c] / double(rows.size());
    for (const uint32_t row : rows)
      squares += std::pow(all.points.view().at(row)[c] - mean, 2);
    out.push_back(std::sqrt(squares / double(rows.size())));
  }
  std::sort(out.begin(), out.end());
  return (out[1] + out[2]) / 2; // of four columns
}

/// The k nearest of the class, the metric as its definition says.
std::vector<uint32_t> nearest_mixed(const mixed_rows& all, uint32_t from,
                                    size_t k) {
  const uint32_t c = all.points.of_row[from];
  const double apart = median_deviation(all, c);
  std::vector<neighbour> near;
  for (const uint32_t row : rows_of_class(all, c)) {
    if (row == from)
      continue;
    double squared = squared_distance(all.points.view().at(from),
                                      all.points.view().at(row), 4);
    for (size_t i = 0; i < all.counts.size(); ++i)
      squared += all.at(from)[i] != all.at(row)[i] ? apart * apart : 0;
    near.push_back({squared, row});
  }
  std::sort(near.begin(), near.end());
  std::vector<uint32_t> out;
  for (size_t i = 0; i < k; ++i)
    out.push_back(near.at(i).row);
  return out;
}

/// Of one column of some rows; several where they come equally often.
std::vector<uint32_t> most_frequent(const mixed_rows& all,
                                    const std::vector<uint32_t>& rows,
                                    size_t column) {
  std::map<uint32_t, size_t> times;
  size_t most = 0;
  for (const uint32_t row : rows)
    most = std::max(most, ++times[all.at(row)[column]]);
  std::vector<uint32_t> out;
  for (const auto& [code, count] : times)
    if (count == most)
      out.push_back(code);
  return out;
}

TEST(smotenc, makes_numbers_on_lines_and_takes_the_categories_of_most) {
  for (const mixed_rows& all :
       {some_mixed(300, 2, 41), some_mixed(260, 3, 42)}) {
    const resampled_rows found = all.resampled_by("smotenc");
    const std::vector<uint64_t> counts = counts_of(all.points, found);
    EXPECT_THAT(counts, testing::Each(std::ranges::max(counts)));
    ASSERT_EQ(found.codes.size(), found.made.size() * all.counts.size());
    ASSERT_GT(found.made.size(), 50u);
    for (size_t i = 0; i < found.made.size(); ++i) {
      const made_row& one = found.made[i];
      ASSERT_EQ(all.points.of_row[one.parent], one.of_class);
      const std::vector<uint32_t> near = nearest_mixed(all, one.parent, 5);
      EXPECT_THAT(near, testing::Contains(one.other)) << i;
      for (size_t c = 0; c < 4; ++c) {
        const double from = all.points.view().at(one.parent)[c];
        const double to = all.points.view().at(one.other)[c];
        ASSERT_EQ(found.values[i * 4 + c], from + one.fraction * (to - from));
      }
      for (size_t c = 0; c < all.counts.size(); ++c)
        EXPECT_THAT(most_frequent(all, near, c),
                    testing::Contains(found.codes[i * all.counts.size() + c]))
            << i << " " << c;
    }
  }
}

TEST(smotenc, draws_one_of_the_categories_that_come_equally_often) {
  mixed_rows all = some_mixed(700, 2, 43, {9, 9, 9});
  const resampled_rows found = all.resampled_by("smotenc", {"k_neighbors=2"});
  uint64_t ties = 0, first = 0;
  for (size_t i = 0; i < found.made.size(); ++i) {
    const auto near = nearest_mixed(all, found.made[i].parent, 2);
    const std::vector<uint32_t> most = most_frequent(all, near, 1);
    if (most.size() == 1)
      continue;
    ++ties;
    first += found.codes[3 * i + 1] == most[0] ? 1 : 0;
  }
  ASSERT_GT(ties, 60u);
  EXPECT_NEAR(double(first), double(ties) / 2, 5 * std::sqrt(double(ties)) / 2);
}

TEST(smotenc, of_constant_numbers_looks_at_no_category) {
  mixed_rows all = some_mixed(200, 2, 44);
  std::fill(all.points.values.begin(), all.points.values.end(), 3);
  const resampled_rows found = all.resampled_by("smotenc");
  EXPECT_THAT(found.values, testing::Each(3.0));
  const std::vector<uint64_t> counts = counts_of(all.points, found);
  EXPECT_EQ(counts[0], counts[1]);
}

TEST(smotenc, of_a_class_that_is_too_small_does_what_k_policy_says) {
  mixed_rows all = some_mixed(60, 2, 45);
  for (size_t i = 0; i < 60; ++i)
    all.points.of_row[i] = i % 20 == 3 ? 1 : 0;
  EXPECT_THAT(
      refusal_of([&] { all.resampled_by("smotenc"); }, errc::invalid_data),
      has_all({"class 'b' of column 'y' has 3 rows, k_neighbors = 5 needs 6",
               "k_policy=shrink"}));
  EXPECT_EQ(all.resampled_by("smotenc", {"k_policy=shrink"}).made.size(), 54u);
  const resampled_rows repeated =
      all.resampled_by("smotenc", {"k_policy=duplicate"});
  ASSERT_EQ(repeated.made.size(), 54u);
  for (size_t i = 0; i < 54; ++i)
    EXPECT_TRUE(std::ranges::equal(
        all.at(repeated.made[i].parent),
        std::span(repeated.codes)
            .subspan(i * all.counts.size(), all.counts.size())));
}

/// The metric as its definition says.
double value_difference(const mixed_rows& all, uint32_t a, uint32_t b) {
  double out = 0;
  for (size_t c = 0; c < all.counts.size(); ++c) {
    std::vector<double> of_a(all.points.classes), of_b(all.points.classes);
    double rows_a = 0, rows_b = 0, sum = 0;
    for (uint32_t row = 0; row < all.points.of_row.size(); ++row) {
      const uint32_t code = all.at(row)[c];
      of_a[all.points.of_row[row]] += code == all.at(a)[c] ? 1 : 0;
      of_b[all.points.of_row[row]] += code == all.at(b)[c] ? 1 : 0;
      rows_a += code == all.at(a)[c] ? 1 : 0;
      rows_b += code == all.at(b)[c] ? 1 : 0;
    }
    for (size_t k = 0; k < of_a.size(); ++k)
      sum += std::abs(of_a[k] / rows_a - of_b[k] / rows_b);
    out += sum * sum;
  }
  return out;
}

TEST(smoten, takes_the_categories_of_most_rows_around) {
  const mixed_rows all = only_categories(150, 3, 46);
  const resampled_rows found = all.resampled_by("smoten");
  const std::vector<uint64_t> counts = counts_of(all.points, found);
  EXPECT_THAT(counts, testing::Each(std::ranges::max(counts)));
  std::map<uint32_t, std::vector<uint32_t>> known;
  for (size_t i = 0; i < found.made.size(); ++i) {
    const made_row& one = found.made[i];
    if (!known.contains(one.parent)) {
      std::vector<neighbour> near;
      for (const uint32_t row : rows_of_class(all, one.of_class))
        near.push_back({value_difference(all, one.parent, row), row});
      std::sort(near.begin(), near.end());
      std::vector<uint32_t> rows;
      for (size_t n = 0; n < 6; ++n)
        rows.push_back(near[n].row);
      for (size_t c = 0; c < all.counts.size(); ++c)
        known[one.parent].push_back(most_frequent(all, rows, c)[0]);
    }
    EXPECT_TRUE(std::ranges::equal(known[one.parent],
                                   std::span(found.codes).subspan(i * 6, 6)))
        << i;
  }
}

TEST(smoten, makes_the_same_of_equal_rows) {
  mixed_rows all = only_categories(120, 2, 47);
  for (size_t i = 0; i < all.codes.size(); ++i)
    all.codes[i] = all.points.of_row[i / 6];
  const resampled_rows found = all.resampled_by("smoten");
  EXPECT_THAT(found.codes, testing::Each(1u));
}

TEST(smoten, of_a_class_that_is_too_small_does_what_k_policy_says) {
  mixed_rows all = only_categories(60, 2, 48);
  for (size_t i = 0; i < 60; ++i)
    all.points.of_row[i] = i == 3 ? 1 : 0;
  EXPECT_THAT(
      refusal_of([&] { all.resampled_by("smoten"); }, errc::invalid_data),
      has_all({"class 'b' of column 'y' has 1 row,", "k_neighbors = 5"}));
  const resampled_rows repeated =
      all.resampled_by("smoten", {"k_policy=duplicate"});
  EXPECT_EQ(repeated.made.size(), 58u);
  EXPECT_TRUE(
      std::ranges::equal(all.at(3), std::span(repeated.codes).subspan(0, 6)));
}

TEST(methods_with_categories, refuse_rows_of_one_class) {
  mixed_rows all = only_categories(30, 1, 49);
  EXPECT_THAT(
      refusal_of([&] { all.resampled_by("smoten"); }, errc::invalid_data),
      has_all({"has one class, 'a'"}));
}

TEST(methods_with_categories, are_the_same_for_any_number_of_threads) {
  for (const auto& [method, all] :
       {std::pair("smotenc", some_mixed(3000, 3, 50)),
        std::pair("smoten", only_categories(1500, 3, 51))}) {
    const resampled_rows one = all.resampled_by(method);
    const resampled_rows three = all.resampled_by(method, {}, 3);
    EXPECT_EQ(one.values, three.values) << method;
    EXPECT_EQ(one.codes, three.codes) << method;
  }
}

} // namespace
} // namespace ballast::data
