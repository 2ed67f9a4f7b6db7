// Additions: every vectorised variant must give the bits of the plain loops.
#include "collectives/add.hpp"
#include "collectives/bfloat16.hpp"
#include "runtime/base/random.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace ballast::collectives {
namespace {

class add_variant : public ::testing::TestWithParam<std::string> {
protected:
  void SetUp() override { use_add_variant(GetParam()); }
  void TearDown() override { use_add_variant(add_variants().front()); }
};

/// Equal also in the sign of a zero.
template <class T>
bool same_bits(T a, T b) {
  using bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  return std::bit_cast<bits>(a) == std::bit_cast<bits>(b);
}

/// Values of all magnitudes, with the odd infinity and zero among them.
template <class T>
std::vector<T> values(size_t count, uint64_t stream) {
  counter_random random(5, stream);
  std::vector<T> out(count);
  for (size_t i = 0; i < count; ++i) {
    out[i] = static_cast<T>(
        std::ldexp(random.unit(2 * i) - 0.5,
                   static_cast<int>(random.below(60, 2 * i + 1)) - 30));
    if (i % 97 == 5) {
      out[i] = std::numeric_limits<T>::infinity();
    }
    if (i % 89 == 7) {
      out[i] = T(-0.0);
    }
  }
  return out;
}

/// Sums at every alignment and odd size, beside a plain loop.
template <class T>
void check_sums(element_type type) {
  for (size_t ways : {1u, 2u, 3u, 7u}) {
    for (size_t count : {0u, 1u, 7u, 15u, 16u, 33u, 64u, 1001u}) {
      for (size_t shift : {0u, 1u, 3u}) { // elements, so not of the vectors
        std::vector<std::vector<T>> sources;
        std::vector<const void*> pointers;
        for (size_t w = 0; w < ways; ++w) {
          sources.push_back(values<T>(count + shift, w));
          pointers.push_back(sources.back().data() + shift);
        }
        std::vector<T> expected(count);
        for (size_t i = 0; i < count; ++i) {
          T sum = sources[0][shift + i];
          for (size_t w = 1; w < ways; ++w) {
            sum += sources[w][shift + i];
          }
          expected[i] = sum;
        }
        std::vector<T> got(count + 1, T(42));
        sum_of(got.data(), pointers, count, type);
        ASSERT_EQ(got[count], T(42)) << "wrote behind the end";
        for (size_t i = 0; i < count; ++i) {
          ASSERT_TRUE(same_bits(got[i], expected[i]) ||
                      (std::isnan(got[i]) && std::isnan(expected[i])))
              << ways << " ways, element " << i << " of " << count;
        }
        // The target may be one of the sources, first or last.
        T* first = sources.front().data() + shift;
        sum_of(first, pointers, count, type);
        ASSERT_TRUE(count == 0 || first[count - 1] == expected[count - 1] ||
                    std::isnan(expected[count - 1]));
      }
    }
  }
}

TEST_P(add_variant, sums_float32_with_the_bits_of_a_plain_loop) {
  check_sums<float>(element_type::float32);
}

TEST_P(add_variant, sums_float64_with_the_bits_of_a_plain_loop) {
  check_sums<double>(element_type::float64);
}

TEST_P(add_variant, adds_at_odd_byte_addresses) {
  std::vector<char> memory(4 * 100 + 1), other(4 * 100 + 3);
  for (int i = 0; i < 100; ++i) {
    float a = static_cast<float>(i), b = 2.0f * static_cast<float>(i);
    std::memcpy(memory.data() + 1 + 4 * i, &a, 4);
    std::memcpy(other.data() + 3 + 4 * i, &b, 4);
  }
  add_into(memory.data() + 1, other.data() + 3, 100, element_type::float32);
  for (int i = 0; i < 100; ++i) {
    float sum;
    std::memcpy(&sum, memory.data() + 1 + 4 * i, 4);
    ASSERT_EQ(sum, 3.0f * static_cast<float>(i));
  }
}

INSTANTIATE_TEST_SUITE_P(all, add_variant,
                         ::testing::ValuesIn(add_variants().begin(),
                                             add_variants().end()));

TEST(add, sums_bfloat16_in_float32_and_rounds_once) {
  // 1 + 2^-9 + 2^-9: each addition alone would round back to 1.
  uint16_t one = to_bfloat16(1.0f), tiny = to_bfloat16(std::ldexp(1.0f, -8));
  const void* sources[] = {&one, &tiny, &tiny};
  uint16_t sum = 0;
  sum_of(&sum, sources, 1, element_type::bfloat16);
  EXPECT_EQ(from_bfloat16(sum), 1.0f + std::ldexp(1.0f, -7));
}

TEST(add, an_unknown_variant_is_refused) {
  EXPECT_THROW(use_add_variant("abacus"), std::invalid_argument);
}

} // namespace
} // namespace ballast::collectives
