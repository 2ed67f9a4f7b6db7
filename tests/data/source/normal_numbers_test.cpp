// Goal: numbers made many at once are those of the definition. Method: one
// after another, with the C library's functions, which differ in their last
// bits.
#include "data/source/normal_numbers.hpp"

#include "runtime/base/random.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

namespace ballast::data {
namespace {

float expected(uint64_t seed, uint64_t stream, size_t which) {
  const counter_random random(seed, stream);
  const uint64_t first = which / 2 * 2;
  const double radius = std::sqrt(-2 * std::log(1 - random.unit(first)));
  const double angle = 2 * M_PI * random.unit(first + 1);
  return float(radius * (which % 2 == 0 ? std::cos(angle) : std::sin(angle)));
}

TEST(normal_numbers, are_those_of_box_and_muller_for_any_count) {
  constexpr uint64_t seed = 0x123456789abcdef;
  const std::vector<uint64_t> streams{0, 1, 1ULL << 40, UINT64_MAX, 7};
  for (const size_t each :
       {1U, 2U, 3U, 16U, 17U, 63U, 64U, 65U, 127U, 128U, 129U, 1001U}) {
    std::vector<float> got(streams.size() * each);
    normal_numbers(seed, streams, each, got);
    for (size_t s = 0; s < streams.size(); ++s)
      for (size_t i = 0; i < each; ++i) {
        const float wanted = expected(seed, streams[s], i);
        ASSERT_NEAR(got[s * each + i], wanted, 1e-6 * std::abs(wanted))
            << each << " of stream " << streams[s] << ", number " << i;
      }
  }
}

TEST(normal_numbers, have_mean_0_and_deviation_1) {
  std::vector<uint64_t> streams(1000);
  std::iota(streams.begin(), streams.end(), 0);
  std::vector<float> all(streams.size() * 100);
  normal_numbers(3, streams, 100, all);
  double sum = 0;
  double squares = 0;
  for (float one : all) {
    sum += one;
    squares += double(one) * one;
  }
  const double count = double(all.size());
  EXPECT_NEAR(sum / count, 0, 4 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1, 4 * std::sqrt(2 / count));
}

} // namespace
} // namespace ballast::data
