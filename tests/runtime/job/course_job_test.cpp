/// Goal: what `stop` and `keep` look at is refused before anything begins where
/// no evaluation will find it, at its place, with what may stand there.
#include "runtime/job/asked_metrics.hpp"
#include "tests/runtime/job/job_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ballast {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The one mistake of the right job with these changes.
failure mistake(const std::vector<std::string>& sets) {
  const job_result found = parse_with(sets);
  EXPECT_EQ(found.mistakes.size(), 1U) << all_messages(found);
  return found.mistakes.empty() ? failure{} : found.mistakes[0];
}

TEST(course_job, is_right_with_a_loss_or_a_metric_that_is_computed) {
  for (const char* metric : {"\"loss\"", "\"accuracy\"", "\"f1_macro\""}) {
    const std::string word(metric);
    const job_result found =
        parse_with({"/stop={\"metric\":" + word +
                        ",\"patience\":3,\"min_delta\":0.01,\"target\":0.5,"
                        "\"max_minutes\":5}",
                    "/keep/best={\"metric\":" + word + "}",
                    "/evaluate/metrics=[\"accuracy\",\"f1_macro\"]"});
    EXPECT_TRUE(found.value) << all_messages(found);
  }
}

TEST(course_job, refuses_patience_where_nothing_is_evaluated) {
  for (const char* field : {"patience", "target"}) {
    const std::string at = "/stop/" + std::string(field);
    failure why =
        mistake({"/stop/metric=\"loss\"", at + "=2", "/data/test_fraction=0"});
    EXPECT_EQ(why.pointer, at);
    EXPECT_THAT(why.message, HasSubstr("no test part"));
    why = mistake({at + "=2"});
    EXPECT_EQ(why.pointer, at);
    EXPECT_THAT(why.message, AllOf(HasSubstr("/stop/metric"),
                                   HasSubstr("\"loss\", \"accuracy\"")));
  }
  EXPECT_EQ(
      mistake({"/keep/best/metric=\"loss\"", "/data/test_fraction=0"}).pointer,
      "/keep/best/metric");
}

TEST(course_job, refuses_what_an_evaluation_does_not_find) {
  for (const char* at : {"/stop/metric", "/keep/best/metric"}) {
    const auto of = [&](const std::string& metric) {
      const failure why = mistake({std::string(at) + "=\"" + metric + "\""});
      EXPECT_EQ(why.pointer, at);
      return why.message;
    };
    EXPECT_THAT(of("f1_macor"), HasSubstr("is no metric"));
    EXPECT_THAT(of("rmse"), HasSubstr("is not for the loss"));
    EXPECT_THAT(of("f1_per_class"), HasSubstr("is not one number"));
    EXPECT_THAT(of("brier"), HasSubstr("add it to /evaluate/metrics"));
  }
}

TEST(course_job, asks_for_the_mode_of_what_is_neither_good_nor_bad) {
  const std::string computed = "/evaluate/metrics=[\"majority_accuracy\"]";
  failure why = mistake({computed, "/keep/best/metric=\"majority_accuracy\""});
  EXPECT_EQ(why.pointer, "/keep/best/metric");
  EXPECT_THAT(why.message, HasSubstr("/keep/best/mode"));
  EXPECT_TRUE(parse_with({computed, "/keep/best={\"metric\":"
                                    "\"majority_accuracy\",\"mode\":\"max\"}"})
                  .value);
  why = mistake({computed, "/stop/metric=\"majority_accuracy\""});
  EXPECT_THAT(why.message, Not(HasSubstr("mode")));
}

TEST(course_job, refuses_what_belongs_to_a_field_that_is_not_set) {
  EXPECT_EQ(mistake({"/stop/min_delta=0.1"}).pointer, "/stop/min_delta");
  EXPECT_EQ(mistake({"/keep/best/mode=\"max\""}).pointer, "/keep/best/mode");
}

TEST(course_job, refuses_to_judge_the_emulated_model) {
  const std::string model = "/model={\"kind\":\"emulated\",\"parameters\":10}";
  EXPECT_EQ(mistake({model, "/keep/best/metric=\"loss\""}).pointer,
            "/keep/best/metric");
  EXPECT_EQ(
      mistake({model, "/stop/metric=\"loss\"", "/stop/patience=2"}).pointer,
      "/stop/metric");
  EXPECT_TRUE(parse_with({model, "/stop/max_minutes=1"}).value);
}

TEST(course_job, refuses_a_prepared_set_without_test_rows) {
  job what;
  EXPECT_FALSE(course_misfit(what, 0));
  what.keep.best.metric = "loss";
  EXPECT_FALSE(course_misfit(what, 1));
  EXPECT_EQ(course_misfit(what, 0).pointer, "/keep/best/metric");
  what.stop.metric = "loss";
  EXPECT_EQ(course_misfit(what, 0).pointer, "/stop/metric");
}

} // namespace
} // namespace ballast
