#include "placement_fixture.hpp"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <set>

namespace ballast::placement {
namespace {

using ::testing::HasSubstr;
using namespace testing;

// Every kind, many sizes: disjoint, complete, nobody empty, reproducible.
TEST(placement, gives_every_row_to_exactly_one_worker) {
  const std::set<std::string> may_refuse = {"classes", "column"};
  std::map<std::string, int> placed;
  for (const std::string_view word : words_of<placement_kind>) {
    const std::string name(word);
    for (uint64_t rows : {0, 1, 2, 3, 7, 100, 1003}) {
      for (uint32_t workers : {1, 2, 3, 7}) {
        for (double alpha : {1e-3, 0.5, 1e4}) {
          placement_spec spec = kind(*parse_word<placement_kind>(name));
          spec.alpha = alpha;
          spec.sigma = 1 / alpha > 10 ? 10 : 1 / alpha;
          spec.balanced = alpha < 1;
          spec.strictness = 0.3;
          for (uint32_t i = 0; i < workers; ++i) {
            spec.shares.push_back(i == 1 ? 0 : 1 + i);
            spec.matrix.push_back({1.0 + i, 0, i == 0 ? 1e-6 : 1e6});
            spec.matrix.back()[1] = i + 1 == workers ? 1 : 0;
          }
          some_rows of{some_labels(rows, 3), 3};
          for (uint64_t row = 0; row < rows; ++row)
            of.column.push_back(double(row * row % 11));
          SCOPED_TRACE(name + " rows " + std::to_string(rows) + " workers " +
                       std::to_string(workers));
          if (placement_mistake(spec, of, workers)) {
            EXPECT_TRUE(may_refuse.contains(name));
            continue;
          }
          ++placed[name];
          const row_lists lists = place_rows(spec, of, workers, 42);
          ASSERT_EQ(lists.size(), workers);
          std::vector<uint64_t> seen;
          for (const auto& list : lists) {
            if (rows >= workers) {
              EXPECT_FALSE(list.empty());
            }
            seen.insert(seen.end(), list.begin(), list.end());
          }
          std::sort(seen.begin(), seen.end());
          std::vector<uint64_t> all(rows);
          std::iota(all.begin(), all.end(), uint64_t{0});
          EXPECT_EQ(seen, all);
          EXPECT_EQ(lists, place_rows(spec, of, workers, 42));
        }
      }
    }
    EXPECT_GE(placed[name], 20) << name;
  }
}

TEST(placement, keeps_file_order_when_contiguous) {
  EXPECT_EQ(place_rows(kind(placement_kind::contiguous), {7}, 3, 1),
            (row_lists{{0, 1, 2}, {3, 4}, {5, 6}}));
}

TEST(placement, follows_the_shares_by_largest_remainder) {
  EXPECT_EQ(split_by_shares(10, {5, 2, 1}),
            (std::vector<uint64_t>{6, 3, 1})); // 6.25, 2.5, 1.25
  EXPECT_EQ(split_by_shares(10007, {5, 2, 1}),
            (std::vector<uint64_t>{6254, 2502, 1251}));
  EXPECT_EQ(split_by_shares(1, {1, 1}), (std::vector<uint64_t>{1, 0}));
  EXPECT_EQ(split_by_shares(5, {0, 1}), (std::vector<uint64_t>{0, 5}));
  placement_spec spec = kind(placement_kind::sizes);
  spec.shares = {3, 1};
  EXPECT_EQ(place_rows(spec, {4}, 2, 1), (row_lists{{0, 1, 2}, {3}}));
}

TEST(placement, stratifies_each_class_to_within_one_row) {
  const uint64_t rows = 1000;
  const std::vector<int32_t> labels = some_labels(rows, 4);
  const row_lists lists =
      place_rows(kind(placement_kind::stratified), {rows, labels, 4}, 3, 9);
  for (uint32_t label = 0; label < 4; ++label) {
    uint64_t least = rows;
    uint64_t most = 0;
    for (const auto& list : lists) {
      const uint64_t count = histogram(list, labels, 4)[label];
      least = std::min(least, count);
      most = std::max(most, count);
    }
    EXPECT_LE(most - least, 1u) << "class " << label;
  }
}

TEST(placement, sorts_by_label_and_keeps_file_order_within_one) {
  const std::vector<int32_t> labels{1, 0, 1, 0, 2, 0};
  EXPECT_EQ(place_rows(kind(placement_kind::sorted), {6, labels, 3}, 2, 1),
            (row_lists{{1, 3, 5}, {0, 2, 4}}));
}

TEST(placement, shuffles_by_the_seed) {
  const row_lists a = place_rows(kind(placement_kind::iid), {1000}, 2, 1);
  const row_lists b = place_rows(kind(placement_kind::iid), {1000}, 2, 2);
  EXPECT_NE(a, b);
  EXPECT_FALSE(std::is_sorted(a[0].begin(), a[0].end()));
}

// Small alpha: one worker holds nearly all of a class. Large alpha: equal.
TEST(placement, skews_more_the_smaller_alpha_is) {
  const uint64_t rows = 9000;
  const std::vector<int32_t> labels = some_labels(rows, 8);
  std::map<double, double> mean_top_share;
  for (double alpha : {0.01, 1.0, 1000.0}) {
    placement_spec spec = kind(placement_kind::dirichlet);
    spec.alpha = alpha;
    const row_lists lists = place_rows(spec, {rows, labels, 8}, 4, 5);
    for (uint32_t label = 0; label < 8; ++label) {
      uint64_t top = 0;
      uint64_t sum = 0;
      for (const auto& list : lists) {
        const uint64_t count = histogram(list, labels, 8)[label];
        top = std::max(top, count);
        sum += count;
      }
      mean_top_share[alpha] += double(top) / double(sum) / 8;
    }
  }
  EXPECT_GT(mean_top_share[0.01], 0.9);
  EXPECT_GT(mean_top_share[1.0], 0.35);
  EXPECT_LT(mean_top_share[1.0], 0.9);
  EXPECT_LT(mean_top_share[1000.0], 0.28);
}

// -- by size ------------------------------------------------------------------

TEST(placement, spreads_sizes_more_the_larger_sigma_is) {
  placement_spec spec = kind(placement_kind::lognormal);
  std::map<double, uint64_t> largest;
  for (double sigma : {0.0, 0.3, 1.0, 3.0}) {
    spec.sigma = sigma;
    const row_lists lists = place_rows(spec, {1003}, 8, 3);
    largest[sigma] = most(sizes_of(lists));
    EXPECT_FALSE(std::is_sorted(lists[0].begin(), lists[0].end()));
    EXPECT_NE(sigma == 0,
              sizes_of(lists) != std::vector<uint64_t>(
                                     {126, 126, 126, 125, 125, 125, 125, 125}));
  }
  EXPECT_LT(largest[0.3], largest[1]);
  EXPECT_LT(largest[1], largest[3]);
}

// The logarithms of the sizes are normal: their standard deviation is sigma.
TEST(placement, draws_lognormal_sizes_with_the_deviation_asked_for) {
  placement_spec spec = kind(placement_kind::lognormal);
  spec.sigma = 0.7;
  const row_lists lists = place_rows(spec, {4'000'000}, 400, 3);
  double sum = 0;
  double squares = 0;
  for (const auto& list : lists) {
    sum += std::log(double(list.size()));
    squares += std::pow(std::log(double(list.size())), 2);
  }
  EXPECT_NEAR(std::sqrt(squares / 400 - std::pow(sum / 400, 2)), 0.7, 0.07);
}

TEST(placement, makes_sizes_rise_from_worker_to_worker) {
  auto sizes = [](placement_kind of, uint64_t rows, uint32_t workers) {
    return sizes_of(place_rows(kind(of), {rows}, workers, 1));
  };
  EXPECT_EQ(sizes(placement_kind::linear, 100, 3),
            (std::vector<uint64_t>{17, 33, 50}));
  EXPECT_EQ(sizes(placement_kind::square, 100, 3),
            (std::vector<uint64_t>{7, 29, 64}));
  EXPECT_EQ(sizes(placement_kind::exponential, 100, 3),
            (std::vector<uint64_t>{9, 24, 67}));
  // e^-1023 of the rows are none, but nobody is left empty.
  const std::vector<uint64_t> many =
      sizes(placement_kind::exponential, 5000, 1024);
  EXPECT_EQ(least(many), 1u);
  EXPECT_EQ(most(many), many.back());
}

// -- by a column --------------------------------------------------------------

TEST(placement, keeps_rows_of_one_value_together_and_sizes_even) {
  some_rows of{std::vector<int32_t>(22, 0), 1};
  // Groups of 7, 5, 4, 3 and 3 rows; the largest first to the least loaded.
  for (double value : {7, 5, 4, 3, -3})
    of.column.insert(of.column.end(), size_t(std::abs(value)), value);
  row_lists lists = place_rows(kind(placement_kind::column), of, 2, 1);
  EXPECT_EQ(sizes_of(lists), (std::vector<uint64_t>{10, 12}));
  // Of the two groups of 3 the lower value goes first.
  EXPECT_EQ(lists[0], (std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 19, 20, 21}));
}

TEST(placement, is_within_a_third_of_the_best_sizes_for_a_column) {
  some_rows of{std::vector<int32_t>(1003, 0), 1};
  for (uint64_t row = 0; row < 1003; ++row)
    of.column.push_back(double(row * row % 97) / 4);
  std::map<double, std::set<size_t>> owners;
  const row_lists lists = place_rows(kind(placement_kind::column), of, 7, 1);
  for (size_t worker = 0; worker < lists.size(); ++worker)
    for (uint64_t row : lists[worker])
      owners[of.column[row]].insert(worker);
  for (const auto& [value, workers] : owners)
    EXPECT_EQ(workers.size(), 1u) << value;
  EXPECT_LE(double(most(sizes_of(lists))), 1003 / 7.0 * 4 / 3);
}

TEST(placement, refuses_a_column_with_too_few_values) {
  some_rows of{std::vector<int32_t>(9, 0), 1};
  of.column = {1, 1, 2, 2, 3, 3, 1, 2, 3};
  placement_spec spec = kind(placement_kind::column);
  spec.column = "user";
  EXPECT_FALSE(placement_mistake(spec, of, 3));
  const failure found = placement_mistake(spec, of, 4);
  EXPECT_EQ(found.pointer, "/data/placement/column");
  EXPECT_THAT(found.message, HasSubstr("\"user\" has 3 different values"));
}

TEST(placement, follows_a_column_as_strictly_as_asked) {
  some_rows of{std::vector<int32_t>(4001, 0), 1};
  for (uint64_t row = 0; row < 4001; ++row) { // one outlier, many equal
    const uint64_t many_equal = row * row % 1009 / 2;
    of.column.push_back(row == 0 ? 1e30 : double(many_equal));
  }
  placement_spec spec = kind(placement_kind::continuous);
  std::map<double, double> lowest_mean;
  for (double strictness : {0.0, 0.5, 1.0}) {
    spec.strictness = strictness;
    const row_lists lists = place_rows(spec, of, 4, 1);
    EXPECT_EQ(sizes_of(lists), (std::vector<uint64_t>{1001, 1000, 1000, 1000}));
    for (uint64_t row : lists[0])
      if (row != 0)
        lowest_mean[strictness] += of.column[row] / 1001;
    if (strictness < 1)
      continue;
    for (size_t worker = 0; worker + 1 < lists.size(); ++worker) {
      const auto by_value = [&](uint64_t a, uint64_t b) {
        return of.column[a] < of.column[b];
      };
      EXPECT_LE(
          of.column[*std::max_element(lists[worker].begin(),
                                      lists[worker].end(), by_value)],
          of.column[*std::min_element(lists[worker + 1].begin(),
                                      lists[worker + 1].end(), by_value)]);
    }
  }
  EXPECT_NEAR(lowest_mean[0], 252, 20); // the mean of all
  EXPECT_NEAR(lowest_mean[1], 63, 10);  // of the lowest quarter
  EXPECT_GT(lowest_mean[0.5], lowest_mean[1] + 20);
  EXPECT_LT(lowest_mean[0.5], lowest_mean[0] - 20);
}

} // namespace
} // namespace ballast::placement
