#include "runtime/placement.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <numeric>

namespace ballast {
namespace {

using row_lists = std::vector<std::vector<uint64_t>>;

placement_spec kind(const char* name) {
  placement_spec out;
  out.kind = name;
  return out;
}

/// Labels 0, 1, ..., classes - 1, 0, ... with class 0 twice as frequent.
std::vector<int32_t> some_labels(uint64_t rows, uint32_t classes) {
  std::vector<int32_t> out(rows);
  for (uint64_t i = 0; i < rows; ++i)
    out[i] = int32_t(i % (classes + 1) % classes);
  return out;
}

std::vector<uint64_t> histogram(const std::vector<uint64_t>& rows,
                                const std::vector<int32_t>& labels,
                                uint32_t classes) {
  std::vector<uint64_t> out(classes);
  for (uint64_t row : rows)
    ++out[size_t(labels[row])];
  return out;
}

// Every kind, many sizes: disjoint, complete, nobody empty, reproducible.
TEST(placement, gives_every_row_to_exactly_one_worker) {
  for (const char* name :
       {"contiguous", "iid", "stratified", "sorted", "dirichlet", "sizes"}) {
    for (uint64_t rows : {0, 1, 2, 3, 7, 100, 1003}) {
      for (uint32_t workers : {1, 2, 3, 7}) {
        for (double alpha : {1e-3, 0.5, 1e4}) {
          placement_spec spec = kind(name);
          spec.alpha = alpha;
          for (uint32_t i = 0; i < workers; ++i)
            spec.shares.push_back(i == 1 ? 0 : 1 + i);
          const std::vector<int32_t> labels = some_labels(rows, 3);
          const row_lists lists =
              place_rows(spec, labels, 3, rows, workers, 42);
          SCOPED_TRACE(std::string(name) + " rows " + std::to_string(rows) +
                       " workers " + std::to_string(workers));
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
          EXPECT_EQ(lists, place_rows(spec, labels, 3, rows, workers, 42));
        }
      }
    }
  }
}

TEST(placement, keeps_file_order_when_contiguous) {
  EXPECT_EQ(place_rows(kind("contiguous"), {}, 0, 7, 3, 1),
            (row_lists{{0, 1, 2}, {3, 4}, {5, 6}}));
}

TEST(placement, follows_the_shares_by_largest_remainder) {
  EXPECT_EQ(split_by_shares(10, {5, 2, 1}),
            (std::vector<uint64_t>{6, 3, 1})); // 6.25, 2.5, 1.25
  EXPECT_EQ(split_by_shares(10007, {5, 2, 1}),
            (std::vector<uint64_t>{6254, 2502, 1251}));
  EXPECT_EQ(split_by_shares(1, {1, 1}), (std::vector<uint64_t>{1, 0}));
  EXPECT_EQ(split_by_shares(5, {0, 1}), (std::vector<uint64_t>{0, 5}));
  placement_spec spec = kind("sizes");
  spec.shares = {3, 1};
  EXPECT_EQ(place_rows(spec, {}, 0, 4, 2, 1), (row_lists{{0, 1, 2}, {3}}));
}

TEST(placement, stratifies_each_class_to_within_one_row) {
  const uint64_t rows = 1000;
  const std::vector<int32_t> labels = some_labels(rows, 4);
  const row_lists lists = place_rows(kind("stratified"), labels, 4, rows, 3, 9);
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
  EXPECT_EQ(place_rows(kind("sorted"), labels, 3, 6, 2, 1),
            (row_lists{{1, 3, 5}, {0, 2, 4}}));
}

TEST(placement, shuffles_by_the_seed) {
  const row_lists a = place_rows(kind("iid"), {}, 0, 1000, 2, 1);
  const row_lists b = place_rows(kind("iid"), {}, 0, 1000, 2, 2);
  EXPECT_NE(a, b);
  EXPECT_FALSE(std::is_sorted(a[0].begin(), a[0].end()));
}

// Small alpha: one worker holds nearly all of a class. Large alpha: equal.
TEST(placement, skews_more_the_smaller_alpha_is) {
  const uint64_t rows = 9000;
  const std::vector<int32_t> labels = some_labels(rows, 8);
  std::map<double, double> mean_top_share;
  for (double alpha : {0.01, 1.0, 1000.0}) {
    placement_spec spec = kind("dirichlet");
    spec.alpha = alpha;
    const row_lists lists = place_rows(spec, labels, 8, rows, 4, 5);
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

} // namespace
} // namespace ballast
