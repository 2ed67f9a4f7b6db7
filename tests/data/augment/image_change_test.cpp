// Goal: scaling, turning and changing colours do to an image what their
// definition says. Method: beside the definition, pixel by pixel in double.
#include "data/augment/image_colour.hpp"
#include "data/augment/image_part.hpp"
#include "data/augment/image_resize.hpp"
#include "data/augment/image_rotate.hpp"

#include "tests/data/augment/made_up_images.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

namespace ballast::data {
namespace {

/// How much of a new pixel is the old one `at`.
std::vector<double> triangle(int64_t old, int64_t made, int64_t pixel) {
  const double scale = double(old) / double(made);
  const double reach = std::max(scale, 1.0);
  const double middle = (double(pixel) + 0.5) * scale;
  std::vector<double> out;
  double sum = 0;
  for (int64_t at = 0; at < old; ++at) {
    out.push_back(
        std::max(0.0, 1 - std::abs(double(at) + 0.5 - middle) / reach));
    sum += out.back();
  }
  for (double& one : out)
    one /= sum;
  return out;
}

plain_image slowly_resized(const plain_image& from, int64_t height,
                           int64_t width) {
  return plain_of(
      from.channels, height, width, [&](int64_t c, int64_t y, int64_t x) {
        const auto down = triangle(from.height, height, y);
        const auto right = triangle(from.width, width, x);
        double sum = 0;
        for (int64_t i = 0; i < from.height; ++i)
          for (int64_t k = 0; k < from.width; ++k)
            sum += down[size_t(i)] * right[size_t(k)] * from.at(c, i, k);
        return sum;
      });
}

void expect_close(const std::vector<float>& got, const plain_image& expected,
                  double within, const std::string& what) {
  ASSERT_EQ(got.size(), expected.values.size()) << what;
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected.values[i], within) << what << ", value " << i;
}

TEST(image_resize, weighs_old_pixels_by_a_triangle) {
  const auto values = made_up_image<uint8_t>(3 * 40 * 40);
  resize_room room;
  for (int64_t height : {1, 2, 13, 40})
    for (int64_t width : {1, 3, 27})
      for (auto [to_height, to_width] :
           {std::pair{1, 1}, {5, 4}, {13, 27}, {30, 61}}) {
        image_view view =
            whole_image(values.data(), ledger::stored_type::uint8, 3, 40, 40);
        take_part(view, 40 - height, 2, height, width);
        std::vector<float> out(size_t(3 * to_height * to_width));
        resize(view, to_height, to_width, room, out.data());
        expect_close(out,
                     slowly_resized(part_of(plain_of(values, 3, 40, 40),
                                            40 - height, 2, height, width),
                                    to_height, to_width),
                     1e-3,
                     std::to_string(height) + " x " + std::to_string(width) +
                         " to " + std::to_string(to_height));
      }
}

TEST(image_resize, leaves_an_image_of_the_same_size_as_it_is) {
  const auto values = made_up_image<float>(2 * 9 * 11);
  resize_room room;
  std::vector<float> out(values.size());
  resize(whole_image(values.data(), ledger::stored_type::float32, 2, 9, 11), 9,
         11, room, out.data());
  EXPECT_EQ(out, values);
}

TEST(image_rotate, takes_each_pixel_from_where_it_was) {
  for (auto [height, width] :
       {std::pair<int64_t, int64_t>{1, 1}, {2, 2}, {9, 9}, {12, 31}}) {
    const auto values = made_up_image<float>(size_t(3 * height * width));
    const plain_image from = plain_of(values, 3, height, width);
    for (double degrees : {0.0, 15.0, -33.3, 90.0, 179.0}) {
      std::vector<float> out(values.size());
      rotate(values.data(), 3, height, width, turn_of(degrees), out.data());
      const double angle = degrees * std::numbers::pi / 180;
      const double middle_x = double(width - 1) / 2;
      const double middle_y = double(height - 1) / 2;
      expect_close(
          out,
          plain_of(3, height, width,
                   [&](int64_t c, int64_t to_y, int64_t to_x) {
                     const double away_x = double(to_x) - middle_x;
                     const double away_y = double(to_y) - middle_y;
                     const double x = std::cos(angle) * away_x -
                                      std::sin(angle) * away_y + middle_x;
                     const double y = std::sin(angle) * away_x +
                                      std::cos(angle) * away_y + middle_y;
                     const auto left = int64_t(std::floor(x));
                     const auto above = int64_t(std::floor(y));
                     const double right = x - double(left);
                     const double below = y - double(above);
                     return (1 - below) *
                                ((1 - right) * from.at(c, above, left) +
                                 right * from.at(c, above, left + 1)) +
                            below * ((1 - right) * from.at(c, above + 1, left) +
                                     right * from.at(c, above + 1, left + 1));
                   }),
          2e-4, std::to_string(degrees) + " degrees");
    }
  }
}

TEST(image_rotate, goes_counter_clockwise) {
  // A dot right of the middle goes up.
  std::vector<float> from(9, 0);
  from[5] = 1;
  std::vector<float> out(9);
  rotate(from.data(), 1, 3, 3, turn_of(90), out.data());
  EXPECT_NEAR(out[1], 1, 1e-6);
}

TEST(image_rotate, has_the_sine_and_cosine_of_the_library) {
  for (double degrees = -180; degrees <= 180; degrees += 0.7) {
    const double angle = degrees * std::numbers::pi / 180;
    EXPECT_NEAR(turn_of(degrees).sine, std::sin(angle), 1e-14);
    EXPECT_NEAR(turn_of(degrees).cosine, std::cos(angle), 1e-14);
  }
}

plain_image slowly_coloured(plain_image image, const colour_factors& by) {
  const auto pixels = size_t(image.height * image.width);
  const bool grey_only = image.channels == 1;
  std::vector<double>& v = image.values;
  const auto cut = [](double value) { return std::clamp(value, 0.0, 255.0); };
  const auto grey = [&](size_t i) {
    return grey_only ? v[i]
                     : 0.299 * v[i] + 0.587 * v[i + pixels] +
                           0.114 * v[i + 2 * pixels];
  };
  for (double& value : v)
    value = cut(value * double(by.brightness));
  double mean = 0;
  for (size_t i = 0; i < pixels; ++i)
    mean += grey(i) / double(pixels);
  for (double& value : v)
    value = cut(mean + (value - mean) * double(by.contrast));
  for (size_t i = 0; i < pixels && !grey_only; ++i) {
    const double now = grey(i);
    for (size_t at : {i, i + pixels, i + 2 * pixels})
      v[at] = cut(now + (v[at] - now) * double(by.saturation));
  }
  return image;
}

TEST(image_colour, changes_what_it_is_told_to) {
  for (int64_t channels : {1, 3})
    for (auto [height, width] :
         {std::pair<int64_t, int64_t>{1, 1}, {4, 4}, {13, 21}})
      for (const colour_factors& by :
           {colour_factors{1.7F, 1, 1}, colour_factors{1, 0.2F, 1},
            colour_factors{1, 1, 1.9F}, colour_factors{0, 3, 2},
            colour_factors{1.3F, 0.8F, 0.1F}}) {
        auto values = made_up_image<float>(size_t(channels * height * width));
        const plain_image expected =
            slowly_coloured(plain_of(values, channels, height, width), by);
        change_colour(values.data(), channels, height * width, by, {0, 255});
        expect_close(values, expected, 1e-3,
                     std::to_string(channels) + " channels");
      }
}

TEST(image_part, has_roots_of_any_degree) {
  for (double part : {0.0, 0.1, 0.5, 0.77, 0.999999})
    EXPECT_NEAR(root_between({0.75, 4.0 / 3}, part), std::pow(16.0 / 9, part),
                1e-8);
  EXPECT_EQ(root_between({2, 2}, 0.3), 1);
}

TEST(image_part, lies_in_the_image_and_within_its_ranges) {
  const value_range scale{0.1, 0.6};
  const value_range ratio{0.5, 2};
  double logarithms = 0;
  double areas = 0;
  constexpr int count = 4000;
  for (uint64_t sample = 0; sample < count; ++sample) {
    const image_draws draws(1, epoch_number{2}, sample);
    const image_part part = draw_part(200, 300, scale, ratio, draws, 0);
    ASSERT_GE(part.top, 0);
    ASSERT_GE(part.left, 0);
    ASSERT_LE(part.top + part.height, 200);
    ASSERT_LE(part.left + part.width, 300);
    const double area = double(part.height * part.width) / (200 * 300);
    EXPECT_GT(area, 0.09);
    EXPECT_LT(area, 0.61);
    areas += area / count;
    logarithms += std::log(double(part.width) / double(part.height)) / count;
  }
  // Those that do not fit are drawn again, which are the large and the high.
  EXPECT_NEAR(areas, 0.34, 0.03);
  EXPECT_NEAR(logarithms, 0.05, 0.05);
}

TEST(image_part, is_the_largest_that_fits_where_none_was_drawn) {
  const image_draws draws(1, epoch_number{1}, 1);
  // No part of a third of this image has such a ratio.
  EXPECT_EQ(draw_part(1, 90, {0.9, 1}, {0.5, 2}, draws, 0),
            (image_part{0, 44, 1, 2}));
  EXPECT_EQ(draw_part(90, 1, {0.9, 1}, {0.5, 2}, draws, 0),
            (image_part{44, 0, 2, 1}));
}

TEST(image_part, of_the_middle_has_the_shape_of_the_size) {
  EXPECT_EQ(middle_part(100, 60, 8, 8), (image_part{20, 0, 60, 60}));
  EXPECT_EQ(middle_part(60, 100, 8, 8), (image_part{0, 20, 60, 60}));
  EXPECT_EQ(middle_part(100, 100, 10, 20), (image_part{25, 0, 50, 100}));
  EXPECT_EQ(middle_part(1, 1, 10, 20), (image_part{0, 0, 1, 1}));
}

} // namespace
} // namespace ballast::data
