// Goal: the steps of a job make of a row what the reference says, the same bits
// whoever does it. Method: beside images that are changed step by step; counts
// of many draws.
#include "data/augment/image_augment.hpp"

#include "data/loader/augmented_rows.hpp"
#include "runtime/base/errors.hpp"

#include "tests/data/augment/made_up_images.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <map>

namespace ballast::data {
namespace {

using augment::axis;
using augment::op;
using augment::step;
using numbers = std::vector<double>;
using sizes = std::vector<uint32_t>;

step crop_of(uint32_t height, uint32_t width, uint64_t padding = 0) {
  return {op::crop, {{"size", sizes{height, width}}, {"padding", padding}}};
}
step flip_of(double probability, const std::string& along = "horizontal") {
  return {op::flip, {{"probability", probability}, {"axis", along}}};
}
step normalise_of(const numbers& mean, const numbers& deviation) {
  return {op::normalise, {{"mean", mean}, {"std", deviation}}};
}
step resized_of(uint32_t height, uint32_t width) {
  return {op::resized_crop, {{"size", sizes{height, width}}}};
}
step rotate_of(double degrees) {
  return {op::rotate, {{"degrees", degrees}}};
}
step colour_of(double brightness, double contrast, double saturation) {
  return {op::colour,
          {{"brightness", brightness},
           {"contrast", contrast},
           {"saturation", saturation}}};
}

std::vector<float> trained(const image_augment& how, const void* row,
                           uint64_t sample, uint64_t epoch = 1) {
  augment_room room;
  std::vector<float> out(how.seen().features, -1);
  how.train(row, epoch_number{epoch}, sample, room, out.data());
  return out;
}

std::vector<float> evaluated(const image_augment& how, const void* row) {
  augment_room room;
  std::vector<float> out(how.seen().features, -1);
  how.evaluate(row, room, out.data());
  return out;
}

std::vector<float> floats_of(const plain_image& of) {
  return {of.values.begin(), of.values.end()};
}

TEST(image_augment, draws_by_the_rule_that_is_documented) {
  const auto row = made_up_image<uint8_t>(3 * 9 * 7);
  const image_augment how({flip_of(0.3, "vertical"), crop_of(8, 6, 2)}, 41,
                          image_row(ledger::stored_type::uint8, 3, 9, 7));
  for (uint64_t sample = 0; sample < 200; ++sample) {
    // 4: the purpose; 64: numbers of a step.
    const counter_random random(41, mix(mix(4, 5), sample));
    plain_image image = plain_of(row, 3, 9, 7);
    if (random.unit(0) < 0.3)
      image = mirrored(image, axis::vertical);
    const auto top = int64_t(random.below(9 + 4 - 8 + 1, 64));
    const auto left = int64_t(random.below(7 + 4 - 6 + 1, 64 + 1));
    image = part_of(image, top - 2, left - 2, 8, 6);
    ASSERT_EQ(trained(how, row.data(), sample, 5), floats_of(image)) << sample;
  }
}

TEST(image_augment, takes_every_place_and_both_sides_as_often) {
  std::vector<uint8_t> row(25);
  for (size_t i = 0; i < row.size(); ++i)
    row[i] = uint8_t(i + 1);
  const image_augment how({crop_of(1, 1), flip_of(0.25)}, 1,
                          image_row(ledger::stored_type::uint8, 1, 5, 5));
  const image_augment turned({flip_of(0.25)}, 1,
                             image_row(ledger::stored_type::uint8, 1, 5, 5));
  std::map<float, int> places;
  int flips = 0;
  constexpr int count = 10'000;
  constexpr double each = count / 25.0;
  constexpr double quarter = count / 4.0;
  for (uint64_t sample = 0; sample < count; ++sample) {
    ++places[trained(how, row.data(), sample)[0]];
    flips += trained(turned, row.data(), sample)[0] == 5 ? 1 : 0;
  }
  ASSERT_EQ(places.size(), 25u);
  for (const auto& [value, found] : places)
    EXPECT_NEAR(found, each, 5 * std::sqrt(each)) << value;
  EXPECT_NEAR(flips, quarter, 5 * std::sqrt(quarter * 0.75));
}

TEST(image_augment, draws_anew_in_each_epoch_for_each_sample_and_step) {
  const auto row = made_up_image<uint8_t>(64 * 64);
  const auto shape = image_row(ledger::stored_type::uint8, 1, 64, 64);
  const image_augment how({crop_of(8, 8)}, 1, shape);
  const image_augment seeded({crop_of(8, 8)}, 2, shape);
  const image_augment later({flip_of(0), crop_of(8, 8)}, 1, shape);
  const std::vector<float> one = trained(how, row.data(), 7);
  EXPECT_EQ(trained(how, row.data(), 7), one);
  EXPECT_NE(trained(how, row.data(), 8), one);
  EXPECT_NE(trained(how, row.data(), 7, 2), one);
  EXPECT_NE(trained(seeded, row.data(), 7), one);
  EXPECT_NE(trained(later, row.data(), 7), one);
}

TEST(image_augment, draws_nothing_in_evaluation) {
  const auto row = made_up_image<uint8_t>(3 * 10 * 12);
  const auto shape = image_row(ledger::stored_type::uint8, 3, 10, 12);
  const plain_image image = plain_of(row, 3, 10, 12);
  EXPECT_EQ(
      evaluated(image_augment({flip_of(1), rotate_of(90), colour_of(1, 1, 1)},
                              1, shape),
                row.data()),
      floats_of(image));
  EXPECT_EQ(evaluated(image_augment({crop_of(5, 6)}, 1, shape), row.data()),
            floats_of(part_of(image, 2, 3, 5, 6)));
  EXPECT_EQ(
      evaluated(image_augment({crop_of(12, 14, 1)}, 1, shape), row.data()),
      floats_of(part_of(image, -1, -1, 12, 14)));
  // The middle square, as it is.
  EXPECT_EQ(
      evaluated(image_augment({resized_of(10, 10)}, 1, shape), row.data()),
      floats_of(part_of(image, 0, 1, 10, 10)));
}

TEST(image_augment, normalises_what_the_pipeline_has_scaled) {
  auto shape = image_row(ledger::stored_type::uint8, 3, 1, 2);
  shape.scale = 1.0 / 255;
  const std::vector<uint8_t> row{0, 255, 51, 102, 153, 204};
  const image_augment how(
      {normalise_of({0.5, 0.4, 0.4}, {0.5, 0.2, 0.1 + 0.1 / 3})}, 1, shape);
  const std::vector<float> got = trained(how, row.data(), 1);
  EXPECT_EQ(evaluated(how, row.data()), got);
  for (size_t i = 0; i < got.size(); ++i) {
    const size_t channel = i / 2;
    const double mean[] = {0.5, 0.4, 0.4};
    const double deviation[] = {0.5, 0.2, 0.1 + 0.1 / 3};
    EXPECT_NEAR(got[i], (row[i] / 255.0 - mean[channel]) / deviation[channel],
                1e-5);
  }
  // One for all; what lies around an image is 0 before.
  const image_augment around({crop_of(3, 2, 1), normalise_of({0.5}, {0.25})}, 1,
                             shape);
  EXPECT_EQ(evaluated(around, row.data())[0], -2);
}

TEST(image_augment, without_a_change_is_the_row_itself) {
  auto shape = image_row(ledger::stored_type::int16, 1, 4, 4);
  shape.scale = 0.1;
  shape.offset = 3;
  const auto row = made_up_image<int16_t>(16);
  const std::vector<float> got =
      trained(image_augment({flip_of(0)}, 1, shape), row.data(), 1);
  for (size_t i = 0; i < row.size(); ++i)
    EXPECT_EQ(got[i], float(row[i]) * float(0.1) + 3.0F);
}

TEST(image_augment, takes_parts_of_what_was_made_before) {
  const auto row = made_up_image<uint8_t>(3 * 20 * 20);
  const auto shape = image_row(ledger::stored_type::uint8, 3, 20, 20);
  // Scaled, then a part that reaches beyond, mirrored, scaled again.
  const image_augment first({resized_of(16, 16), flip_of(1)}, 3, shape);
  const image_augment both(
      {resized_of(16, 16), flip_of(1), crop_of(17, 16, 4), flip_of(1)}, 3,
      shape);
  const plain_image scaled = plain_of(trained(first, row.data(), 9), 3, 16, 16);
  const image_draws draws(3, epoch_number{1}, 9);
  const auto top = int64_t(draws.below(16 + 8 - 17 + 1, 2, 0));
  const auto left = int64_t(draws.below(16 + 8 - 16 + 1, 2, 1));
  EXPECT_EQ(trained(both, row.data(), 9),
            floats_of(mirrored(part_of(scaled, top - 4, left - 4, 17, 16),
                               axis::horizontal)));
  const image_augment again({crop_of(24, 24, 8), resized_of(9, 9),
                             rotate_of(20), colour_of(0.5, 0.5, 0.5),
                             resized_of(12, 5), normalise_of({3}, {2})},
                            3, shape);
  for (float value : trained(again, row.data(), 9))
    EXPECT_TRUE(value >= -1.5F && value <= 126.01F) << value;
}

TEST(image_augment, changes_an_image_of_one_pixel) {
  const std::vector<uint8_t> row{10, 20, 30};
  const image_augment how({crop_of(1, 1), resized_of(1, 1), flip_of(1),
                           rotate_of(180), colour_of(0, 0.3, 0),
                           normalise_of({0}, {1})},
                          1, image_row(ledger::stored_type::uint8, 3, 1, 1));
  const std::vector<float> got = trained(how, row.data(), 1);
  for (float value : got)
    EXPECT_TRUE(value >= 5 && value <= 35) << value;
  const image_augment larger({resized_of(2, 3)}, 1,
                             image_row(ledger::stored_type::uint8, 3, 1, 1));
  EXPECT_EQ(trained(larger, row.data(), 1),
            (std::vector<float>{10, 10, 10, 10, 10, 10, 20, 20, 20, 20, 20, 20,
                                30, 30, 30, 30, 30, 30}));
}

TEST(image_augment, refuses_rows_that_are_no_images) {
  ledger::row_shape row;
  row.features = 12;
  for (const sizes& shape : {sizes{12}, sizes{3, 4}, sizes{2, 2, 3}}) {
    row.shape = shape;
    try {
      const image_augment how({flip_of(1)}, 1, row);
      ADD_FAILURE() << "not refused";
    } catch (const ballast_error& error) {
      EXPECT_EQ(error.what_failed().pointer, "/data/augment");
      EXPECT_EQ(error.what_failed().code, errc::invalid_job);
    }
  }
  try {
    row.shape = {3, 2, 2};
    const image_augment how({crop_of(3, 2)}, 1, row);
    ADD_FAILURE() << "not refused";
  } catch (const ballast_error& error) {
    EXPECT_EQ(error.what_failed().pointer, "/data/augment/0/size");
  }
}

TEST(augmented_rows, are_the_same_for_any_number_of_threads) {
  const auto shape = image_row(ledger::stored_type::uint8, 3, 24, 20);
  const image_augment how({resized_of(18, 18), rotate_of(30),
                           colour_of(0.4, 0.4, 0.4), crop_of(16, 16, 2),
                           flip_of(0.5), normalise_of({100}, {50})},
                          7, shape);
  std::vector<std::vector<uint8_t>> rows;
  std::vector<const void*> images;
  std::vector<uint64_t> samples;
  for (uint64_t i = 0; i < 60; ++i) {
    rows.push_back(made_up_image<uint8_t>(shape.features, i));
    images.push_back(rows.back().data());
    samples.push_back(1000 + i);
  }
  std::vector<float> expected;
  for (uint64_t i = 0; i < rows.size(); ++i)
    for (float value : trained(how, images[i], samples[i], 3))
      expected.push_back(value);
  for (size_t threads : {1, 2, 7}) {
    augmented_rows made(how, threads);
    for (int again = 0; again < 3; ++again) {
      std::vector<float> out(expected.size());
      made.make(images, samples, epoch_number{3}, out);
      EXPECT_EQ(out, expected) << threads;
    }
    // Of fewer images than threads, and of none.
    std::vector<float> few(2 * how.seen().features);
    made.make(std::span(images).first(2), std::span(samples).first(2),
              std::nullopt, few);
    EXPECT_EQ(
        std::vector<float>(few.begin(), few.begin() + how.seen().features),
        evaluated(how, images[0]));
    made.make({}, {}, epoch_number{1}, {});
  }
}

TEST(row_threads, throw_what_the_work_throws_and_go_on) {
  row_threads threads(3, "test");
  EXPECT_THROW(threads.each(100,
                            [](size_t row, size_t) {
                              if (row == 40)
                                throw ballast_error(errc::internal, "here");
                            }),
               ballast_error);
  std::vector<int> done(50);
  threads.each(done.size(), [&](size_t row, size_t) { ++done[row]; });
  EXPECT_EQ(done, std::vector<int>(50, 1));
}

} // namespace
} // namespace ballast::data
