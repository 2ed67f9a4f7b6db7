// Goal: parts and mirror images of an image are what they are called, however
// many follow each other. Method: by chance, beside images that are copied
// pixel by pixel.
#include "data/augment/image_view.hpp"

#include "tests/data/augment/made_up_images.hpp"

#include <gtest/gtest.h>

namespace ballast::data {
namespace {

void expect_view(const image_view& got, const plain_image& expected,
                 const std::string& what) {
  const channel_map map{{2, 3, 0.5F}, {1, -7, 4}};
  std::vector<float> out(expected.values.size(), -1);
  ASSERT_EQ(got.height, expected.height) << what;
  ASSERT_EQ(got.width, expected.width) << what;
  convert(got, map, out.data());
  const auto each = size_t(expected.height * expected.width);
  for (size_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(out[i], float(expected.values[i]) * map.factor[i / each] +
                          map.summand[i / each])
        << what << ", value " << i;
}

template <class T>
void expect_views(ledger::stored_type stored, int64_t channels, int64_t height,
                  int64_t width) {
  const auto values =
      made_up_image<T>(size_t(channels * height * width), uint64_t(height));
  const counter_random random(5, uint64_t(height * 1000 + width));
  uint64_t drawn = 0;
  for (int round = 0; round < 60; ++round) {
    image_view view =
        whole_image(values.data(), stored, channels, height, width);
    plain_image plain = plain_of(values, channels, height, width);
    std::string what =
        "of " + std::to_string(height) + " x " + std::to_string(width) + ":";
    expect_view(view, plain, what);
    for (int step = 0; step < 4; ++step) {
      const auto below = [&](int64_t bound) {
        return int64_t(random.below(uint64_t(bound), drawn++));
      };
      if (below(2) == 0) {
        const int64_t top = below(2 * view.height + 3) - view.height - 1;
        const int64_t left = below(2 * view.width + 3) - view.width - 1;
        const int64_t part_height = 1 + below(view.height + 4);
        const int64_t part_width = 1 + below(view.width + 4);
        take_part(view, top, left, part_height, part_width);
        plain = part_of(plain, top, left, part_height, part_width);
        what += " part";
      } else {
        const auto along = augment::axis(below(2));
        mirror(view, along);
        plain = mirrored(plain, along);
        what += " mirrored";
      }
      expect_view(view, plain, what);
    }
  }
}

TEST(image_view, is_what_was_taken_and_mirrored) {
  for (int64_t side : {1, 2, 7, 19}) {
    expect_views<uint8_t>(ledger::stored_type::uint8, 3, side, side);
    expect_views<uint8_t>(ledger::stored_type::uint8, 1, side + 5, side);
    expect_views<int16_t>(ledger::stored_type::int16, 1, side, side + 2);
    expect_views<int32_t>(ledger::stored_type::int32, 3, side, side + 1);
    expect_views<float>(ledger::stored_type::float32, 3, side, side + 40);
  }
}

TEST(image_view, knows_when_it_is_plain) {
  const auto values = made_up_image<uint8_t>(12);
  image_view view =
      whole_image(values.data(), ledger::stored_type::uint8, 1, 3, 4);
  EXPECT_TRUE(view.is_plain());
  take_part(view, 1, 1, 2, 3);
  EXPECT_TRUE(view.is_plain());
  take_part(view, -1, 0, 2, 3);
  EXPECT_FALSE(view.is_plain());
  take_part(view, 1, 0, 1, 3);
  EXPECT_TRUE(view.is_plain());
  mirror(view, augment::axis::vertical);
  EXPECT_FALSE(view.is_plain());
}

} // namespace
} // namespace ballast::data
