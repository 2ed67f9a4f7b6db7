// Goal: train.importance is read and written as any other part of a job, and
// refused for models whose rows cannot be drawn. Method: documents as users
// write them.
#include "tests/runtime/job/job_fixture.hpp"

#include <gtest/gtest.h>

namespace ballast {
namespace {

using namespace testing;

nlohmann::json with_importance(const nlohmann::json& what) {
  nlohmann::json out = right_job();
  out["train"]["importance"] = what;
  return out;
}

TEST(importance_job, is_off_unless_a_score_is_named) {
  const job_result plain = parse(right_job());
  ASSERT_TRUE(plain.value) << all_messages(plain);
  EXPECT_EQ(plain.value->train.importance.by, importance_score::none);
  EXPECT_EQ(to_json(*plain.value)["train"]["importance"],
            nlohmann::json({{"by", "none"}}));
  EXPECT_EQ(all_messages(parse(with_importance({{"keep", 0.5}}))),
            "invalid_job /train/importance/keep: has no place here; it belongs "
            "to by \"loss\", \"gradient_norm\"\n");
}

TEST(importance_job, is_written_as_it_was_read) {
  const job_result read = parse(with_importance(
      {{"by", "gradient_norm"}, {"keep", 0.25}, {"when", "always"}}));
  ASSERT_TRUE(read.value) << all_messages(read);
  const importance_spec& found = read.value->train.importance;
  EXPECT_EQ(found.by, importance_score::gradient_norm);
  EXPECT_EQ(found.keep, 0.25);
  EXPECT_EQ(found.floor, 0.1);
  EXPECT_EQ(found.when, importance_when::always);
  const nlohmann::json written = to_json(*read.value);
  const job_result again = parse(written);
  ASSERT_TRUE(again.value) << all_messages(again);
  EXPECT_EQ(to_json(*again.value), written);
}

TEST(importance_job, refuses_parts_that_are_none) {
  for (const char* field : {"keep", "floor"})
    for (double value : {0.0, -0.1, 1.5}) {
      const job_result read =
          parse(with_importance({{"by", "loss"}, {field, value}}));
      EXPECT_EQ(pointers(read), std::vector<std::string>{
                                    std::string("/train/importance/") + field});
    }
}

TEST(importance_job, refuses_models_whose_rows_have_no_score_of_their_own) {
  nlohmann::json one = with_importance({{"by", "loss"}});
  one["model"] = {{"kind", "emulated"}};
  EXPECT_EQ(all_messages(parse(one)),
            "invalid_job /train/importance/by: the emulated model computes no "
            "losses to draw rows by; expected \"none\", or another model\n");
  one["model"] = {{"kind", "resnet18"}};
  EXPECT_NE(
      all_messages(parse(one))
          .find("/train/importance/by: batch normalisation takes mean and "
                "variance from the rows of a pass"),
      std::string::npos)
      << all_messages(parse(one));
  one["model"] = {{"kind", "cnn"}, {"batch_norm", true}};
  EXPECT_NE(all_messages(parse(one)).find("or /model/batch_norm false"),
            std::string::npos);
  one["model"] = {{"kind", "cnn"}};
  EXPECT_EQ(all_messages(parse(one)), "");
  one["model"] = {{"kind", "cnn"}, {"batch_norm", 3}}; // said once
  EXPECT_EQ(pointers(parse(one)),
            std::vector<std::string>{"/model/batch_norm"});
}

} // namespace
} // namespace ballast
