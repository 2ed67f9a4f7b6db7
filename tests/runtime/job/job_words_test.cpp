// Goal: every value of an enum has one word of its own, which names it alone.
// Method: each enum from its first value to its last.
#include "runtime/coordinator/run_phase.hpp"
#include "runtime/job/job_field.hpp"

#include <gtest/gtest.h>

namespace ballast {
namespace {

template <has_words Enum>
void expect_a_word_for_each_up_to(Enum last) {
  ASSERT_EQ(words_of<Enum>.size(), size_t(last) + 1);
  for (size_t i = 0; i <= size_t(last); ++i)
    EXPECT_EQ(parse_word<Enum>(to_string(Enum(i))), Enum(i))
        << to_string(Enum(i));
  EXPECT_EQ(parse_word<Enum>(""), std::nullopt);
  EXPECT_EQ(parse_word<Enum>("another"), std::nullopt);
}

TEST(words, name_one_value_each) {
  expect_a_word_for_each_up_to(source_format::prepared);
  expect_a_word_for_each_up_to(pipeline_op::reshape);
  expect_a_word_for_each_up_to(placement_kind::continuous);
  expect_a_word_for_each_up_to(model_kind::emulated);
  expect_a_word_for_each_up_to(resnet_stem::cifar);
  expect_a_word_for_each_up_to(model_init::zeros);
  expect_a_word_for_each_up_to(loss_kind::next_token);
  expect_a_word_for_each_up_to(optimizer_kind::adamw);
  expect_a_word_for_each_up_to(schedule_kind::linear);
  expect_a_word_for_each_up_to(compute_precision::bfloat16);
  expect_a_word_for_each_up_to(collective_kind::nccl);
  expect_a_word_for_each_up_to(json_kind::object);
  expect_a_word_for_each_up_to(coordinator::run_phase::stopped);
}

TEST(words, of_a_field_are_what_it_allows) {
  job target;
  for (const job_field& field : job_fields({false, 0}))
    if (field.pointer == "/train/loss") {
      EXPECT_EQ(field.allowed,
                (std::vector<std::string>{"cross_entropy", "bce", "hinge",
                                          "mse", "huber", "next_token"}));
      EXPECT_TRUE(store_value(field, "mse", target).empty());
      EXPECT_EQ(target.train.loss, loss_kind::mse);
      EXPECT_FALSE(store_value(field, "focal", target).empty());
      EXPECT_EQ(target.train.loss, loss_kind::mse) << "nothing is stored";
    }
}

} // namespace
} // namespace ballast
