/// Goal: a metric that cannot be computed is refused before anything begins,
/// where it stands, with those that can.
#include "runtime/job/asked_metrics.hpp"
#include "tests/runtime/job/job_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ballast {
namespace {

using namespace testing;

TEST(evaluate_job, refuses_a_metric_of_another_task_and_lists_those_that_fit) {
  const job_result found =
      parse_with({"/evaluate/metrics=[\"accuracy\",\"r2\"]"});
  ASSERT_EQ(found.mistakes.size(), 1U) << all_messages(found);
  EXPECT_EQ(found.mistakes[0].pointer, "/evaluate/metrics/1");
  EXPECT_THAT(
      found.mistakes[0].message,
      ::testing::AllOf(
          ::testing::HasSubstr("\"r2\" is not for the loss \"cross_entropy\""),
          ::testing::HasSubstr("\"roc_auc\""),
          ::testing::Not(::testing::HasSubstr("\"mae\""))));
}

TEST(evaluate_job, refuses_what_is_no_metric_or_named_twice) {
  job_result found = parse_with({"/evaluate/metrics=[\"f1_macor\"]"});
  ASSERT_EQ(found.mistakes.size(), 1U);
  EXPECT_EQ(found.mistakes[0].pointer, "/evaluate/metrics/0");
  EXPECT_THAT(found.mistakes[0].message,
              ::testing::HasSubstr("did you mean \"f1_macro\"?"));
  found = parse_with({"/evaluate/metrics=[\"brier\",\"ece\",\"brier\"]"});
  ASSERT_EQ(found.mistakes.size(), 1U);
  EXPECT_EQ(found.mistakes[0].pointer, "/evaluate/metrics/2");
}

TEST(evaluate_job, refuses_metrics_that_no_row_could_have) {
  job_result found =
      parse_with({"/evaluate/metrics=[\"accuracy\"]",
                  "/model={\"kind\":\"emulated\",\"parameters\":10}"});
  ASSERT_EQ(found.mistakes.size(), 1U) << all_messages(found);
  EXPECT_EQ(found.mistakes[0].pointer, "/evaluate/metrics");
  found =
      parse_with({"/evaluate/metrics=[\"accuracy\"]", "/data/test_fraction=0"});
  ASSERT_EQ(found.mistakes.size(), 1U) << all_messages(found);
  EXPECT_THAT(found.mistakes[0].message,
              ::testing::HasSubstr("there is no test part"));
}

/// The synthetic data of the fixture say how many classes they have; of others
/// it is known when they were read.
TEST(evaluate_job, refuses_what_is_for_two_classes_of_a_label_with_more) {
  const job_result found = parse_with({"/evaluate/metrics=[\"f1\"]"});
  ASSERT_EQ(found.mistakes.size(), 1U) << all_messages(found);
  EXPECT_EQ(found.mistakes[0].pointer, "/evaluate/metrics/0");
  EXPECT_THAT(found.mistakes[0].message,
              ::testing::HasSubstr("this label has 4 classes"));

  job what;
  what.evaluate.metrics = {"accuracy", "f1"};
  EXPECT_FALSE(metrics_misfit(what, 2));
  const failure why = metrics_misfit(what, 3);
  EXPECT_EQ(why.code, errc::invalid_job);
  EXPECT_EQ(why.pointer, "/evaluate/metrics/1");
}

TEST(evaluate_job, computes_the_usual_metrics_of_its_task_where_none_is_named) {
  job what;
  EXPECT_EQ(asked_metrics(what),
            metrics::usual_metrics(metrics::task::classes));
  what.train.loss = loss_kind::mse;
  EXPECT_EQ(asked_metrics(what), metrics::usual_metrics(metrics::task::number));
  what.model.kind = model_kind::emulated;
  EXPECT_TRUE(asked_metrics(what).empty());
}

TEST(evaluate_job, takes_balanced_class_weights_and_refuses_other_words) {
  const job_result found = parse_with({"/train/class_weights=balanced"});
  ASSERT_TRUE(found.value) << all_messages(found);
  EXPECT_TRUE(found.value->train.class_weights_balanced);
  const job_result wrong = parse_with({"/train/class_weights=balancd"});
  ASSERT_EQ(wrong.mistakes.size(), 1U);
  EXPECT_EQ(wrong.mistakes[0].pointer, "/train/class_weights");
  EXPECT_THAT(wrong.mistakes[0].message,
              ::testing::AllOf(::testing::HasSubstr("\"balanced\" or a list"),
                               ::testing::HasSubstr("did you mean")));
}

TEST(evaluate_job, refuses_balanced_weights_where_classes_are_not_counted) {
  const job_result found = parse_with(
      {"/train/class_weights=balanced", "/balance/by=[\"a\"]",
       "/data/train={\"format\":\"csv\",\"uri\":\"a.csv\",\"label\":\"y\"}"});
  ASSERT_EQ(found.mistakes.size(), 1U) << all_messages(found);
  EXPECT_EQ(found.mistakes[0].pointer, "/train/class_weights");
}

} // namespace
} // namespace ballast
