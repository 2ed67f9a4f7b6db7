// Goal: after it no step pays for the first write to an arena. Method: the
// kernel says which pages are there.
#include "gpu/first_touch.hpp"

#include "collectives/zeroed_memory.hpp"
#include "tests/collectives/resident_pages.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <unistd.h>

namespace ballast::gpu {
namespace {

using collectives::resident_pages;

TEST(first_touch, brings_every_page_and_leaves_zeros) {
  constexpr size_t count = (size_t{9} << 20) + 5; // several pieces, and a rest
  for (uint32_t threads : {0u, 1u, 3u}) {
    const auto first = collectives::zeroed_floats(count);
    const auto second = collectives::zeroed_floats(count);
    ASSERT_EQ(resident_pages(first.get(), count), 0u);
    touch_first({{first.get(), count}, {}, {second.get(), count}}, threads);
    for (const auto& one : {first, second}) {
      const size_t pages =
          count * sizeof(float) / size_t(::sysconf(_SC_PAGESIZE));
      EXPECT_GE(resident_pages(one.get(), count), pages);
      EXPECT_TRUE(std::all_of(one.get(), one.get() + count,
                              [](float x) { return x == 0; }));
    }
  }
}

TEST(first_touch, of_nothing_returns) {
  touch_first({}, 4);
  touch_first({{}}, 4);
}

} // namespace
} // namespace ballast::gpu
