/// Goal: sorted rows give what counting all pairs, or all thresholds, gives;
/// histograms are as far off as they say at most.
#include "runtime/metrics/ranking.hpp"
#include "runtime/metrics/score_sketch.hpp"
#include "runtime/metrics/tally.hpp"

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace ballast::metrics {
namespace {

struct scored_row {
  double score = 0;
  bool own = false;
};

double auc_of(const std::vector<scored_row>& rows) {
  double above = 0, pairs = 0;
  for (const scored_row& a : rows)
    for (const scored_row& b : rows)
      if (a.own && !b.own) {
        pairs += 1;
        above += a.score > b.score ? 1 : a.score == b.score ? 0.5 : 0;
      }
  return above / pairs;
}

/// Each row of its own by the precision of saying it and all with its score or
/// a higher one.
double average_precision_of(const std::vector<scored_row>& rows) {
  double sum = 0, own = 0;
  for (const scored_row& a : rows) {
    if (!a.own)
      continue;
    double said = 0, hits = 0;
    for (const scored_row& b : rows) {
      said += b.score >= a.score;
      hits += b.own && b.score >= a.score;
    }
    sum += hits / said;
    own += 1;
  }
  return sum / own;
}

class_ranking sorted(const std::vector<scored_row>& rows) {
  std::vector<uint64_t> keys;
  for (const scored_row& one : rows)
    keys.push_back(ranked_key(one.score, one.own));
  return rank(keys);
}

class_ranking binned(const std::vector<scored_row>& rows, uint32_t bits) {
  std::vector<uint64_t> count[2];
  for (auto& one : count)
    one.resize(probability_bins(bits));
  for (const scored_row& one : rows)
    ++count[one.own ? 1 : 0][probability_bin(one.score, bits)];
  return rank(count[0], count[1]);
}

uint64_t mixed(uint64_t i) {
  i = (i + 1) * 0x9e3779b97f4a7c15U;
  return (i ^ (i >> 29)) * 0xbf58476d1ce4e5b9U;
}

/// `score`: of a number in [0, 1).
template <class Score>
std::vector<scored_row> made(size_t rows, Score score) {
  std::vector<scored_row> out;
  for (size_t i = 0; i < rows; ++i) {
    const double at = double(mixed(i) >> 11) / double(uint64_t{1} << 53);
    out.push_back({score(at), mixed(i * 3 + 7) % 1000 < 200 + 600 * at});
  }
  return out;
}

TEST(ranking, of_sorted_rows_is_that_of_all_pairs) {
  const std::vector<std::vector<scored_row>> cases = {
      made(700, [](double at) { return at; }),
      made(700, [](double at) { return std::floor(at * 8) / 8; }), // ties
      // Differences far behind the leading bits.
      made(700,
           [](double at) { return 0.75 + std::floor(at * 300) * 0x1p-51; }),
      made(700, [](double at) { return at < 0.5 ? 0.0 : 1.0; }),
      made(700, [](double at) { return at * 1e-300; }),
      {{0.5, true}, {0.5, false}},
      {{-0.0, true}, {0.0, false}}};
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    const class_ranking found = sorted(cases[i]);
    EXPECT_NEAR(found.roc_auc.value, auc_of(cases[i]), 1e-12);
    EXPECT_NEAR(found.average_precision.value, average_precision_of(cases[i]),
                1e-12);
    EXPECT_EQ(found.roc_auc.error_max, 0);
    EXPECT_EQ(found.own + found.others, cases[i].size());
  }
}

TEST(ranking, of_histograms_is_within_its_bound_whatever_the_bins) {
  const auto rows = made(1500, [](double at) { return at * at * at; });
  for (uint32_t bits = 0; bits <= sketch_bits_max; ++bits) {
    SCOPED_TRACE(bits);
    const class_ranking found = binned(rows, bits);
    EXPECT_LE(std::abs(found.roc_auc.value - auc_of(rows)),
              found.roc_auc.error_max + 1e-12);
    EXPECT_LE(
        std::abs(found.average_precision.value - average_precision_of(rows)),
        found.average_precision.error_max + 1e-12);
  }
  EXPECT_LT(binned(rows, sketch_bits_max).roc_auc.error_max, 1e-3);
}

TEST(score_sketch, has_bins_that_ascend_and_mirror_each_other) {
  for (uint32_t bits : {0U, 3U, sketch_bits_max}) {
    SCOPED_TRACE(bits);
    const size_t bins = probability_bins(bits);
    EXPECT_EQ(probability_bin(0, bits), 0U);
    EXPECT_EQ(probability_bin(1, bits), bins - 1);
    size_t last = 0;
    for (double p = 0x1p-30; p < 1; p *= 1.01) {
      const size_t bin = probability_bin(p, bits);
      EXPECT_GE(bin, last);
      EXPECT_LT(bin, bins);
      last = bin;
      if (p < 0.5) {
        EXPECT_EQ(probability_bin(1 - p, bits) +
                      probability_bin(1 - (1 - p), bits),
                  bins - 1);
      }
    }
    EXPECT_LT(probability_bin(std::numeric_limits<double>::quiet_NaN(), bits),
              bins);
  }
}

TEST(score_sketch, finds_the_bin_in_which_an_error_lies) {
  for (double error : {0.0, 1e-30, 0x1p-64, 0.1, 1.0, 3.7, 1e9, 1e19}) {
    const size_t bin = error_bin(error, 4);
    EXPECT_LE(error_bin_begin(bin, 4), error);
    EXPECT_LT(error, error_bin_begin(bin + 1, 4));
  }
  EXPECT_EQ(error_bin(std::numeric_limits<double>::infinity(), 4),
            error_bins(4) - 1);
}

TEST(quantile, lies_on_a_line_between_two_rows) {
  std::vector<double> numbers = {4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(quantile(numbers, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(numbers, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(numbers, 1), 4);
  EXPECT_NEAR(quantile(numbers, 0.9), 3.7, 1e-12);
}

// Of a file nobody knows how many rows it has before it ends.
TEST(tally, counts_in_its_histograms_what_another_has_ranked) {
  const std::array wanted{metric::roc_auc, metric::average_precision};
  const auto laid_out = [&](uint64_t rows) {
    return std::make_shared<const layout>(
        lay_out(task::classes, 3, wanted, rows));
  };
  tally exact(laid_out(1));
  tally coarse(laid_out(uint64_t{1} << 40));
  for (size_t i = 0; i < 50; ++i) {
    const auto x = float(i % 7) - 3;
    const std::array<float, 3> outputs{x, 1 - x, x * x / 9};
    exact.add_scores(i % 3, outputs);
    coarse.add_scores(i % 3, outputs);
  }
  ASSERT_GT(exact.of().ranked, 0u);
  ASSERT_EQ(coarse.of().ranked, 0u);
  tally late(coarse.shared());
  late.sketch_ranked(exact.take_part().ranked);
  late.add_counts(exact.counts());
  EXPECT_EQ(late.counts(), coarse.counts());
}

} // namespace
} // namespace ballast::metrics
