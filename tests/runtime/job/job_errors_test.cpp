// Goal: a job says what becomes of bad rows, and how many there may be.
#include "runtime/job/job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ballast {
namespace {

using nlohmann::json;

json job_with_policy(json data) {
  data["train"] = {{"format", "csv"}, {"uri", "a.csv"}, {"label", "y"}};
  return {{"data", std::move(data)}, {"model", {{"kind", "mlp"}}}};
}

std::string refusal_of_policy(json data) {
  const job_result read =
      parse_job(job_with_policy(std::move(data)).dump(), {}, "/");
  return read.mistakes.empty() ? "nothing" : read.mistakes[0].message;
}

TEST(job_errors, are_refusals_unless_the_job_says_otherwise) {
  const job_result read =
      parse_job(job_with_policy(json::object()).dump(), {}, "/");
  ASSERT_TRUE(read.value);
  EXPECT_EQ(read.value->data.on_error, error_policy::fail);
  EXPECT_FALSE(to_json(*read.value)["data"].contains("errors_max"));
}

TEST(job_errors, may_be_a_part_of_the_rows_that_are_left_out) {
  const job_result read = parse_job(
      job_with_policy({{"on_error", "quarantine"}, {"errors_max", 0.05}})
          .dump(),
      {}, "/");
  ASSERT_TRUE(read.value);
  EXPECT_EQ(read.value->data.on_error, error_policy::quarantine);
  EXPECT_EQ(to_json(*read.value)["data"]["errors_max"], 0.05);
}

TEST(job_errors, have_a_limit_only_where_rows_may_be_left_out) {
  EXPECT_THAT(refusal_of_policy({{"errors_max", 0.05}}),
              ::testing::HasSubstr("/data/errors_max"));
  EXPECT_THAT(refusal_of_policy({{"on_error", "skip"}, {"errors_max", 2}}),
              ::testing::HasSubstr("/data/errors_max"));
  EXPECT_THAT(refusal_of_policy({{"on_error", "ignore"}}),
              ::testing::HasSubstr(R"("fail", "skip", "quarantine")"));
}

TEST(job_errors, shift_no_row_that_is_paired_by_its_place) {
  const json csv{{"format", "csv"}, {"uri", "a.csv"}};
  json document = job_with_policy(
      {{"on_error", "skip"},
       {"sources", {{"a", csv}, {"b", csv}}},
       {"graph", {{{"op", "zip"}, {"from", {"a", "b"}}, {"as", "both"}}}}});
  document["data"]["train"] = {{"from", "both"}, {"label", "y"}};
  const job_result refused = parse_job(document.dump(), {}, "/");
  ASSERT_EQ(refused.mistakes.size(), 1u);
  EXPECT_THAT(refused.mistakes[0].message,
              ::testing::HasSubstr("/data/graph/0: \"zip\" pairs rows"));
  document["data"]["on_error"] = "fail";
  EXPECT_TRUE(parse_job(document.dump(), {}, "/").value);
}

TEST(job_errors, take_no_batch_along) {
  json document = job_with_policy(
      {{"on_error", "quarantine"},
       {"sources", {{"a", {{"format", "csv"}, {"uri", "a.csv"}}}}},
       {"graph",
        {{{"op", "batch"}, {"from", "a"}, {"rows", 4}, {"as", "fours"}}}}});
  document["data"]["train"] = {{"from", "fours"}, {"label", "y"}};
  const job_result refused = parse_job(document.dump(), {}, "/");
  ASSERT_EQ(refused.mistakes.size(), 1u);
  EXPECT_THAT(refused.mistakes[0].message,
              ::testing::HasSubstr("/data/graph/0: one bad row"));
}

} // namespace
} // namespace ballast
