/// The first usable GPU, for tests that need one; without it they are skipped
/// with the reason.
#pragma once

#include "gpu/cuda/check.hpp"
#include "gpu/cuda/device_memory.hpp"
#include "gpu/cuda_library.hpp"
#include "runtime/base/random.hpp"

#include <bit>
#include <cstdint>
#include <gtest/gtest.h>
#include <type_traits>
#include <vector>

namespace ballast::testing {

class device_fixture : public ::testing::Test {
protected:
  void SetUp() override {
    const std::string reason = why_no_gpu(gpu::probe_cuda());
    if (!reason.empty())
      GTEST_SKIP() << reason;
    gpu::check_cuda(cudaSetDevice(0), "cudaSetDevice");
  }
  void TearDown() override {
    // A kernel that read or wrote where it must not fails its own test.
    if (!IsSkipped()) {
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    }
  }
};

/// In [-1, 1), another one for each stream.
inline std::vector<float> noise(size_t count, uint64_t stream) {
  counter_random random(11, stream);
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i)
    out[i] = float(2 * random.unit(i) - 1);
  return out;
}

/// The index of the first element whose bits differ, or the size.
template <class T>
size_t first_difference(const std::vector<T>& a, const std::vector<T>& b) {
  using bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i)
    if (std::bit_cast<bits>(a[i]) != std::bit_cast<bits>(b[i]))
      return i;
  return a.size() == b.size() ? a.size() : std::min(a.size(), b.size());
}

template <class T>
void expect_equal_bits(const std::vector<T>& kernel,
                       const std::vector<T>& reference, const char* what) {
  ASSERT_EQ(kernel.size(), reference.size()) << what;
  const size_t at = first_difference(kernel, reference);
  if (at < kernel.size())
    ADD_FAILURE() << what << ": element " << at << " of " << kernel.size()
                  << " is " << kernel[at] << ", the reference says "
                  << reference[at];
}

/// Lengths around groups of four, blocks and pieces, and one of many blocks.
inline const std::vector<size_t> lengths = {
    0, 1, 3, 4, 5, 255, 1023, 1024, 1025, 16383, 16384, 16385, 65537, 3000001};
/// Elements by which an array may begin after a 16-byte boundary.
inline const std::vector<size_t> shifts = {0, 1, 3};

} // namespace ballast::testing
