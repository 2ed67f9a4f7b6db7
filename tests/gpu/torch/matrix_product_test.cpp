// Goal: the own matrix products are products, whatever the shape: also where
// the models take LibTorch's instead. Method: sums in double precision.
#include "gpu/torch/matrix_product.hpp"
#include "runtime/base/random.hpp"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

namespace ballast::gpu {
namespace {

// Less than a tile, whole tiles, and more than one block of the inner index.
constexpr product_shape shapes[] = {{1, 1, 1},     {3, 10, 7},    {8, 32, 16},
                                    {9, 33, 17},   {17, 47, 513}, {64, 10, 128},
                                    {128, 96, 784}};

std::vector<float> random_values(size_t count, uint64_t seed) {
  const counter_random random(seed, 0);
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i)
    out[i] = float(2 * random.unit(i) - 1);
  return out;
}

class matrix_product : public ::testing::TestWithParam<product_shape> {
protected:
  void SetUp() override {
    if (!has_matrix_product())
      GTEST_SKIP() << "this CPU has no AVX-512";
  }

  using element = std::function<float(size_t, size_t)>;

  /// `found` = start + sum over k of a(row, k) b(k, column).
  void expect_product(const std::vector<float>& found, const element& start,
                      const element& a, const element& b) {
    for (size_t r = 0; r < s.rows; ++r)
      for (size_t c = 0; c < s.columns; ++c) {
        double sum = start(r, c);
        for (size_t k = 0; k < s.inner; ++k)
          sum += double(a(r, k)) * double(b(k, c));
        ASSERT_NEAR(found[r * s.columns + c], sum, 1e-5 * double(s.inner + 1))
            << "row " << r << ", column " << c;
      }
  }

  product_shape s = GetParam();
  std::vector<float> left = random_values(s.rows * s.inner, 1);
  std::vector<float> right = random_values(s.inner * s.columns, 2);
  std::vector<float> out = random_values(s.rows * s.columns, 3);
};

TEST_P(matrix_product, with_a_weight_adds_the_bias_to_each_row) {
  const std::vector<float> bias = random_values(s.columns, 4);
  std::vector<float> scratch;
  product_with_weight(s, left.data(), right.data(), bias.data(), out.data(),
                      scratch);
  expect_product(
      out, [&](size_t, size_t c) { return bias[c]; },
      [&](size_t r, size_t k) { return left[r * s.inner + k]; },
      [&](size_t k, size_t c) { return right[c * s.inner + k]; });
}

TEST_P(matrix_product, forgets_what_was_there) {
  product(s, left.data(), right.data(), out.data());
  expect_product(
      out, [](size_t, size_t) { return 0.0F; },
      [&](size_t r, size_t k) { return left[r * s.inner + k]; },
      [&](size_t k, size_t c) { return right[k * s.columns + c]; });
}

TEST_P(matrix_product, of_a_transposed_matrix_adds_to_what_was_there) {
  const std::vector<float> before = out;
  add_product_of_transposed(s, left.data(), right.data(), out.data());
  expect_product(
      out, [&](size_t r, size_t c) { return before[r * s.columns + c]; },
      [&](size_t r, size_t k) { return left[k * s.rows + r]; },
      [&](size_t k, size_t c) { return right[k * s.columns + c]; });
}

INSTANTIATE_TEST_SUITE_P(shapes, matrix_product, ::testing::ValuesIn(shapes),
                         [](const auto& one) {
                           return std::to_string(one.param.rows) + "x" +
                                  std::to_string(one.param.columns) + "x" +
                                  std::to_string(one.param.inner);
                         });

} // namespace
} // namespace ballast::gpu
