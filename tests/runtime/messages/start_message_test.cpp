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
  out.judged = {epoch_number{7},
                {epoch_number{4}, step_number{40}, 0.5},
                3,
                true,
                {epoch_number{5}, step_number{50}, -1}};
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
