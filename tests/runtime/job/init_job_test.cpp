/// Goal: what a job says of the parameters that it begins with, and of which of
/// them learn how fast, is refused where it makes no sense, before anything
/// begins.
#include "runtime/job/lr_factors.hpp"
#include "tests/runtime/job/job_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ballast {
namespace {

using namespace testing;

std::string pointer_of_mistake(const std::vector<std::string>& sets) {
  const job_result found = parse_with(sets);
  if (found.mistakes.size() != 1)
    return std::to_string(found.mistakes.size()) + " mistakes";
  return found.mistakes[0].pointer;
}

TEST(init_job, takes_a_run_a_step_of_it_and_patterns) {
  const job_result found = parse_with(
      {"/init/from=runs/first@20", "/init/optimizer=true",
       "/init/except=[\"fc2.*\"]", "/init/freeze=[\"fc1.weight\",\"*.bias\"]",
       "/train/optimizer/lr_of={\"fc2.*\":10,\"fc1.*\":0.5,\"*\":1e-1}"});
  ASSERT_TRUE(found.value) << all_messages(found);
  EXPECT_EQ(found.value->init.from, "/base/runs/first@20");
  EXPECT_EQ(found.value->init.freeze.size(), 2U);
  EXPECT_EQ(found.value->train.optimizer.lr_of.size(), 3U);
  const job_result again = parse(to_json(*found.value));
  ASSERT_TRUE(again.value) << all_messages(again);
  EXPECT_EQ(to_json(*again.value), to_json(*found.value));
}

TEST(init_job, refuses_two_beginnings) {
  EXPECT_EQ(pointer_of_mistake(
                {"/init/from=runs/first", "/model/init=w.safetensors"}),
            "/model/init");
}

TEST(init_job, refuses_exceptions_from_nothing) {
  EXPECT_EQ(pointer_of_mistake({"/init/except=[\"fc2.*\"]"}), "/init/except");
  EXPECT_EQ(pointer_of_mistake({"/init/optimizer=true"}), "/init/optimizer");
}

TEST(init_job, knows_that_a_best_model_has_no_optimizer) {
  EXPECT_EQ(pointer_of_mistake(
                {"/init/from=runs/first@best", "/init/optimizer=true"}),
            "/init/optimizer");
}

TEST(init_job, refuses_patterns_that_are_empty_or_named_twice) {
  EXPECT_EQ(pointer_of_mistake({"/init/freeze=[\"fc1.*\",\"\"]"}),
            "/init/freeze/1");
  EXPECT_EQ(pointer_of_mistake({"/init/freeze=[\"fc1.*\",\"fc1.*\"]"}),
            "/init/freeze/1");
}

TEST(init_job, takes_numbers_from_0_as_factors_of_the_learning_rate) {
  for (const char* wrong : {"-1", "\"10\"", "true", "null", "1e7", "[1]"})
    EXPECT_EQ(pointer_of_mistake({"/train/optimizer/lr_of={\"fc1.*\":" +
                                  std::string(wrong) + "}"}),
              "/train/optimizer/lr_of/fc1.*")
        << wrong;
  EXPECT_TRUE(parse_with({"/train/optimizer/lr_of={\"fc1.*\":0}"}).value);
}

TEST(init_job, lets_the_longest_pattern_count) {
  optimizer_spec how;
  how.lr_of = {{"*", "2"}, {"fc1.*", "3"}, {"fc1.bias", "4"}, {"*.bias", "5"}};
  EXPECT_EQ(lr_pattern_of(how, "fc1.bias"), "fc1.bias");
  EXPECT_EQ(lr_pattern_of(how, "fc1.weight"), "fc1.*");
  EXPECT_EQ(lr_pattern_of(how, "fc2.bias"), "*.bias");
  EXPECT_EQ(lr_pattern_of(how, "fc2.weight"), "*");
  how.lr_of.erase("*");
  EXPECT_EQ(lr_pattern_of(how, "fc2.weight"), "");
  how.lr_of = {{"a*", "2"}, {"*b", "3"}};
  EXPECT_EQ(lr_pattern_of(how, "ab"), "*b"); // of equals the first by alphabet
}

} // namespace
} // namespace ballast
