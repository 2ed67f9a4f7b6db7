#include "runtime/messages/start_message.hpp"

#include <gtest/gtest.h>

namespace ballast {
namespace {

start_message example() {
  start_message out;
  out.at = {epoch_number{2}, step_number{9}};
  out.cursors = {{worker_id{3}, 7, {1, 0, 6}, 42}, {worker_id{5}, 0, {}, 1}};
  out.records = {
      {step_number{8}, epoch_number{2}, plan_number{4}, 50, 0.25, 9}};
  out.judged = {step_number{70},
                epoch_number{7},
                {epoch_number{4}, step_number{40}, 0.5},
                3,
                true,
                {epoch_number{5}, step_number{50}, -1}};
  evaluation_report plain;
  plain.step = step_number{4};
  plain.loss = 0.5;
  evaluation_report found = plain;
  found.step = step_number{8};
  found.epoch = epoch_number{2};
  found.rows = 100;
  found.wall_ns = 12;
  found.accuracy = -0.0;
  found.values = {{metrics::metric::r2, {}, "of one row", 0},
                  {metrics::metric::f1_per_class, {0.25, 1}, "", 1e-3}};
  out.evaluations = {plain, found};
  return out;
}

TEST(start_message, comes_back_from_its_words) {
  start_message in = example();
  auto out = start_from_words(to_words(in));
  ASSERT_TRUE(out);
  EXPECT_EQ(out->at, in.at);
  EXPECT_EQ(out->cursors, in.cursors);
  ASSERT_EQ(out->records.size(), 1u);
  EXPECT_EQ(out->records[0].step, in.records[0].step);
  EXPECT_EQ(out->records[0].loss, in.records[0].loss);
  EXPECT_EQ(out->judged, in.judged);
  ASSERT_EQ(out->evaluations.size(), 2u);
  for (size_t i : {0, 1})
    EXPECT_EQ(out->evaluations[i].fields(), in.evaluations[i].fields());
}

TEST(start_message, is_refused_at_every_length_but_its_own) {
  std::vector<uint64_t> words = to_words(example());
  for (size_t length = 0; length < words.size(); ++length)
    EXPECT_FALSE(start_from_words({words.data(), length})) << length;
  words.push_back(0);
  EXPECT_FALSE(start_from_words(words));
}

TEST(start_message, does_not_believe_a_count_that_cannot_be) {
  std::vector<uint64_t> words{1, 1, UINT64_MAX};
  EXPECT_FALSE(start_from_words(words));
}

} // namespace
} // namespace ballast
