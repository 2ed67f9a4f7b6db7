// Goal: every place has one entry and every entry one place, and nothing in it
// is more likely than chance has it. Method: all sizes up to some thousands,
// random large ones; counts of pairs over many streams, against the chi-square
// distribution.
#include "runtime/ledger/keyed_permutation.hpp"

#include "tests/runtime/ledger/ledger_fixture.hpp"

#include <cmath>

namespace ballast::ledger {
namespace {

using namespace ballast::testing;

void expect_bijection(const keyed_permutation& of) {
  std::vector<bool> met(of.size());
  for (uint64_t i = 0; i < of.size(); ++i) {
    const uint64_t to = of.at(i);
    ASSERT_LT(to, of.size());
    ASSERT_FALSE(met[to]) << "entry " << to << " of " << of.size() << " twice";
    met[to] = true;
  }
}

TEST(keyed_permutation, has_every_entry_once_for_every_size) {
  for (uint64_t n = 1; n <= 3000; ++n)
    expect_bijection({7, n, n});
  test_random random(1);
  for (int i = 0; i < 10; ++i)
    expect_bijection({random.below(1000), 3, random.between(10'000, 400'000)});
}

TEST(keyed_permutation, stays_within_the_largest_sizes) {
  test_random random(2);
  for (uint64_t n : {(uint64_t{1} << 40) - 1, uint64_t{1} << 47,
                     keyed_permutation::size_max}) {
    const keyed_permutation of(5, 1, n);
    double mean = 0;
    for (int i = 0; i < 4000; ++i) {
      const uint64_t at = of.at(random.below(n));
      ASSERT_LT(at, n);
      mean += double(at) / double(n) / 4000;
    }
    EXPECT_NEAR(mean, 0.5, 5 * std::sqrt(1.0 / 12 / 4000)) << n;
  }
}

/// How far `counts` are from all equal, in standard deviations of chi-square.
double unevenness(const std::vector<uint64_t>& counts, uint64_t tries) {
  const double expected = double(tries) / double(counts.size());
  double sum = 0;
  for (uint64_t one : counts)
    sum += (double(one) - expected) * (double(one) - expected) / expected;
  const auto freedom = double(counts.size() - 1);
  return (sum - freedom) / std::sqrt(2 * freedom);
}

TEST(keyed_permutation, has_all_orders_of_a_few_equally_often) {
  constexpr uint64_t n = 5, orders = 120, tries = orders * 500;
  std::map<std::vector<uint64_t>, uint64_t> met;
  for (uint64_t stream = 0; stream < tries; ++stream) {
    const keyed_permutation of(11, stream, n);
    std::vector<uint64_t> order;
    for (uint64_t i = 0; i < n; ++i)
      order.push_back(of.at(i));
    ++met[order];
  }
  std::vector<uint64_t> counts;
  for (const auto& [order, count] : met)
    counts.push_back(count);
  ASSERT_EQ(counts.size(), orders);
  EXPECT_LT(std::abs(unevenness(counts, tries)), 5);
}

TEST(keyed_permutation, puts_two_neighbours_anywhere_equally_often) {
  for (uint64_t n :
       {65, 70, 81, 96, 100}) { // both forms of a network, full and not
    const uint64_t pairs = n * (n - 1), tries = pairs * 40;
    for (uint64_t other : {uint64_t{1}, n - 1}) {
      std::vector<uint64_t> counts(pairs);
      for (uint64_t stream = 0; stream < tries; ++stream) {
        const keyed_permutation of(13, stream, n);
        const uint64_t a = of.at(0), b = of.at(other);
        ++counts[a * (n - 1) + b - (b > a ? 1 : 0)];
      }
      EXPECT_LT(std::abs(unevenness(counts, tries)), 5) << n;
    }
  }
}

TEST(keyed_permutation, is_another_one_for_another_seed_or_stream) {
  const keyed_permutation one(1, 1, 100'000), same(1, 1, 100'000),
      other_seed(2, 1, 100'000), other_stream(1, 2, 100'000);
  int as_seed = 0, as_stream = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(one.at(i), same.at(i));
    as_seed += one.at(i) == other_seed.at(i);
    as_stream += one.at(i) == other_stream.at(i);
  }
  EXPECT_LT(as_seed, 5);
  EXPECT_LT(as_stream, 5);
}

// A run is repeated by another build: these numbers may never change.
TEST(keyed_permutation, is_the_same_for_ever) {
  const keyed_permutation of(42, 7, 1'000'003);
  std::vector<uint64_t> found;
  for (uint64_t i : {0, 1, 2, 500'000, 1'000'002})
    found.push_back(of.at(i));
  EXPECT_EQ(found,
            (std::vector<uint64_t>{46827, 607814, 918115, 618046, 623681}));
}

} // namespace
} // namespace ballast::ledger
