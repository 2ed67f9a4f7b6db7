// What the kernels of gpu/cuda must compute, on the CPU, against values worked
// out by hand. (tests/gpu/cuda compares the kernels with these.)
#include "gpu/kernels/bucket_copy.hpp"
#include "gpu/kernels/gather_rows.hpp"
#include "gpu/kernels/global_norm.hpp"
#include "gpu/kernels/label_histogram.hpp"
#include "gpu/kernels/optimizer_rule.hpp"
#include "runtime/base/random.hpp"
#include "runtime/job/job.hpp"

#include <cmath>
#include <gmock/gmock.h>
#include <limits>

namespace ballast::gpu {
namespace {

using ::testing::ElementsAre;

TEST(scale_copy, multiplies_every_element_by_the_weight) {
  const std::vector<float> from = {1, -2, 0.5F, 0};
  std::vector<float> to(4, 9);
  scale_copy(from.data(), to.data(), 3, 0.25F);
  EXPECT_THAT(to, ElementsAre(0.25F, -0.5F, 0.125F, 9));
}

TEST(scale_copy, works_in_place_and_on_nothing) {
  std::vector<float> both = {1, 2};
  scale_copy(both.data(), both.data(), 2, 3);
  EXPECT_THAT(both, ElementsAre(3, 6));
  scale_copy(nullptr, nullptr, 0, 3);
}

TEST(write_trailer, puts_counts_lanes_and_the_loss_of_the_device_together) {
  worker::trailer counts;
  counts.set_samples(7);
  counts.set_loss_sum(1);
  counts.raise_plan_lane(plan_number{3});
  counts.raise_stop_lane();
  const float loss_sum = 2.5F;
  std::vector<float> to(worker::trailer::floats + 1, 9);
  write_trailer(counts, &loss_sum, to.data());
  std::vector<float> expected(worker::trailer::floats + 1, 0);
  expected[0] = 7;
  expected[1] = 2.5F;
  expected[2 + 3] = 1;
  expected[11] = 1;
  expected[worker::trailer::floats] = 9; // not its own
  EXPECT_EQ(to, expected);
  write_trailer(counts, nullptr, to.data());
  EXPECT_EQ(to[1], 1);
}

TEST(sum_of_squares, of_few_values_is_what_one_expects) {
  const std::vector<float> values = {3, -4, 12};
  EXPECT_EQ(sum_of_squares(values.data(), 3), 169);
  EXPECT_EQ(sum_of_squares(values.data(), 0), 0);
}

// Method: 2^52, beside which a half is lost and a whole is not: it shows which
// halves met each other first. Four pieces are lanes 0 to 3 of the last tree,
// which adds (0 + 2) + (1 + 3).
TEST(sum_of_squares, adds_in_the_order_that_its_header_promises) {
  auto sum_with_halves_in = [](size_t one, size_t other) {
    std::vector<float> values(4 * norm_piece);
    values[0] = std::ldexp(1.0F, 26);
    for (size_t piece : {one, other})
      for (size_t i : {0, 1})
        values[piece * norm_piece + i] = 0.5F; // 1/4 each, squared
    return sum_of_squares(values.data(), values.size()) - std::ldexp(1.0, 52);
  };
  EXPECT_EQ(sum_with_halves_in(1, 3), 1);
  EXPECT_EQ(sum_with_halves_in(2, 3), 0);
  EXPECT_EQ(sum_with_halves_in(1, 2), 0);
}

TEST(sum_of_squares, is_near_the_exact_sum_whatever_the_length) {
  counter_random random(5, 1);
  for (size_t count : {size_t{1}, size_t{1023}, size_t{1025}, norm_piece - 1,
                       norm_piece, norm_piece + 1, 40 * norm_piece + 77}) {
    std::vector<float> values(count);
    long double exact = 0;
    for (size_t i = 0; i < count; ++i) {
      values[i] = float(2 * random.unit(i) - 1);
      exact += static_cast<long double>(values[i]) * values[i];
    }
    EXPECT_NEAR(sum_of_squares(values.data(), count) / double(exact), 1, 1e-14)
        << count;
  }
}

TEST(clip_by_norm, leaves_a_short_gradient_and_shortens_a_long_one) {
  // Sum of squares 400 over 10 samples: the mean gradient has norm 2.
  EXPECT_EQ(clip_by_norm(400, 0.1, 5).scale, 0.1);
  EXPECT_EQ(clip_by_norm(400, 0.1, 2).scale, 0.1);
  EXPECT_DOUBLE_EQ(clip_by_norm(400, 0.1, 1).scale, 0.05);
  EXPECT_EQ(clip_by_norm(400, 0.1, 1).norm, 2);
  EXPECT_EQ(clip_by_norm(400, 0.1, 0).scale, 0.1); // no limit
  EXPECT_EQ(clip_by_norm(0, 0.1, 1).scale, 0.1);
}

TEST(clip_by_norm, hides_no_broken_gradient) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(clip_by_norm(nan, 1, 1).norm));
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(clip_by_norm(infinite, 1, 1).scale, 0);
  EXPECT_TRUE(std::isnan(clip_by_norm(nan, 1, 1).worst));
  EXPECT_TRUE(std::isnan(clip_by_norm(infinite, 1, 1).worst));
}

TEST(sgd_update, follows_the_formula) {
  const sgd_rule rule = make_sgd_rule(
      {.kind = optimizer_kind::sgd, .momentum = 0.5, .weight_decay = 0.25}, 0.5,
      0.125);
  // d = 4 * 0.5 + 0.25 * 8 = 4
  EXPECT_EQ(sgd_update(8, 4, rule), 8 - 0.125F * 4);
  const momentum_values next = momentum_update({8, 2}, 4, rule);
  EXPECT_EQ(next.velocity, 0.5F * 2 + 4);
  EXPECT_EQ(next.p, 8 - 0.125F * 5);
}

TEST(adam_update, moves_by_the_learning_rate_in_the_first_step) {
  // The corrections undo the running means: m / sqrt(v) is the gradient's sign.
  optimizer_spec spec{.kind = optimizer_kind::adam, .lr = 0.5};
  const adam_rule rule = make_adam_rule(spec, 0.25, 0.5, 1);
  const adam_values next = adam_update({1, 0, 0}, 8, rule);
  EXPECT_NEAR(next.p, 0.5, 1e-6);
  EXPECT_FLOAT_EQ(next.m, 0.1F * 2);
  EXPECT_FLOAT_EQ(next.v, 0.001F * 4);
}

TEST(adam_update, shrinks_parameters_only_as_adamw) {
  optimizer_spec spec{.kind = optimizer_kind::adamw, .weight_decay = 0.5};
  adam_rule rule = make_adam_rule(spec, 1, 0.5, 1);
  EXPECT_EQ(adam_update({8, 0, 0}, 0, rule).p, 6);
  spec.kind = optimizer_kind::adam;
  rule = make_adam_rule(spec, 1, 0.5, 1);
  EXPECT_NEAR(adam_update({8, 0, 0}, 0, rule).p, 7.5, 1e-6); // by its sign
}

TEST(label_histogram, counts_every_label_and_the_impossible_ones_apart) {
  const std::vector<int32_t> labels = {0, 2, 2, 1, 3, -1, 2};
  std::vector<uint64_t> counts = {10, 0, 0, 0};
  label_histogram(labels.data(), labels.size(), 3, counts.data());
  EXPECT_THAT(counts, ElementsAre(11, 1, 3, 2));
}

TEST(gather_rows, takes_rows_in_the_given_order_and_normalises) {
  const std::vector<uint8_t> values = {0, 2, 4, 6, 8, 255};
  const std::vector<uint32_t> index = {2, 0, 2};
  std::vector<float> to(6);
  gather_rows(row_block<uint8_t>{values.data(), 3, 2}, index.data(), 3, 0.5F,
              -1, to.data());
  EXPECT_THAT(to, ElementsAre(3, 126.5F, -1, 0, 3, 126.5F));
}

TEST(gather_rows, takes_floats_too) {
  const std::vector<float> values = {1, 2, 3, 4};
  const std::vector<uint32_t> index = {1};
  std::vector<float> to(2);
  gather_rows(row_block<float>{values.data(), 2, 2}, index.data(), 1, 2, 1,
              to.data());
  EXPECT_THAT(to, ElementsAre(7, 9));
}

TEST(gather_rows, makes_a_row_that_is_not_there_show_in_the_loss) {
  const std::vector<float> values = {1, 2};
  const std::vector<uint32_t> index = {1, 0, 0xffffffff};
  std::vector<float> to(6);
  gather_rows(row_block<float>{values.data(), 1, 2}, index.data(), 3, 1, 0,
              to.data());
  EXPECT_THAT(std::vector<float>(to.begin() + 2, to.begin() + 4),
              ElementsAre(1, 2));
  for (size_t i : {0, 1, 4, 5})
    EXPECT_TRUE(std::isnan(to[i])) << i;
}

} // namespace
} // namespace ballast::gpu
