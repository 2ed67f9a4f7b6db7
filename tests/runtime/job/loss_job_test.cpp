/// Goal: a loss that does not go with the model, the data or what else the job
/// says is refused before anything begins, where it stands. Method: tables.
#include "runtime/job/asked_metrics.hpp"
#include "tests/runtime/job/job_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ballast {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* two = "/data/train/classes=2";

struct loss_refusal {
  std::vector<std::string> sets;
  std::string pointer;
  std::string says;
};

TEST(loss_job, refuses_what_does_not_go_with_a_loss_and_says_what_does) {
  const loss_refusal table[] = {
      {{"/train/loss=bce"},
       "/train/loss",
       "is of two classes, the data have 4 (/data/train/classes); expected 2"},
      {{"/train/loss=hinge"}, "/train/loss", "expected 2 there"},
      {{"/train/loss=bce", two, "/model={\"kind\":\"logistic\"}"},
       "/train/loss",
       "its \"cross_entropy\" is this loss"},
      {{"/train/loss=hinge", two, "/model={\"kind\":\"logistic\"}"},
       "/train/loss",
       "for a score take the model \"linear\""},
      {{"/train/loss=huber", "/model={\"kind\":\"logistic\"}"},
       "/train/loss",
       "for numbers take the model \"linear\""},
      {{"/train/loss=bce", two, "/model={\"kind\":\"linear\"}"},
       "/train/loss",
       "needs \"mse\", \"huber\" or, of two classes, \"hinge\""},
      {{"/train/loss=huber", "/model={\"kind\":\"transformer\"}"},
       "/train/loss",
       "needs \"next_token\""},
      {{"/train/huber_delta=2"},
       "/train/huber_delta",
       "belongs to loss \"huber\""},
      {{"/train/loss=huber", "/train/huber_delta=0"},
       "/train/huber_delta",
       "above 0"},
      {{"/train/label_smoothing=1"},
       "/train/label_smoothing",
       "from 0 to below 1, found 1"},
      {{"/train/label_smoothing=0.1", "/train/loss=mse"},
       "/train/label_smoothing",
       "the loss \"mse\" gives no part"},
      {{"/train/label_smoothing=0.1", "/train/loss=hinge", two},
       "/train/label_smoothing",
       "expected 0, or the loss \"cross_entropy\", \"bce\" or \"next_token\""},
      {{"/train/label_smoothing=0.1", "/model={\"kind\":\"emulated\"}"},
       "/train/label_smoothing",
       "computes no loss"},
      {{"/train/class_weights=[1,2]", two, "/train/loss=huber"},
       "/train/class_weights",
       "expected \"cross_entropy\", \"bce\""},
      {{"/train/loss=huber",
        "/data/train={\"format\":\"images\",\"uri\":\"a\",\"size\":8}"},
       "/data/train/format",
       "the loss \"huber\" needs numbers"},
  };
  for (const loss_refusal& one : table) {
    const job_result found = parse_with(one.sets);
    ASSERT_THAT(pointers(found), ElementsAre(one.pointer))
        << one.says << "\n"
        << all_messages(found);
    EXPECT_THAT(found.mistakes[0].message, HasSubstr(one.says));
    EXPECT_THAT(found.mistakes[0].message, Not(HasSubstr("\n")));
  }
}

TEST(loss_job, takes_each_loss_with_the_models_that_have_its_outputs) {
  for (const std::string loss : {"bce", "hinge", "huber"})
    for (const std::string kind : {"mlp", "cnn", "resnet18", "emulated"}) {
      const job_result found = parse_with(
          {"/train/loss=" + loss, two, "/model={\"kind\":\"" + kind + "\"}"});
      EXPECT_TRUE(found.value) << loss << " " << kind << all_messages(found);
    }
  for (const std::string loss : {"mse", "huber", "hinge"})
    EXPECT_TRUE(
        parse_with({"/train/loss=" + loss, two, "/model={\"kind\":\"linear\"}"})
            .value)
        << loss;
  EXPECT_TRUE(parse_with({"/train/loss=bce", two, "/train/class_weights=[1,3]",
                          "/train/label_smoothing=0.1"})
                  .value);
}

TEST(loss_job, of_labels_in_words_are_those_of_classes) {
  const std::string words =
      "/data/train={\"format\":\"csv\",\"uri\":\"a.csv\",\"label\":\"y\","
      "\"columns\":{\"y\":\"text\"}}";
  EXPECT_TRUE(parse_with({words, "/train/loss=bce"}).value);
  EXPECT_TRUE(parse_with({words, "/train/loss=hinge"}).value);
  EXPECT_THAT(pointers(parse_with({words, "/train/loss=huber"})),
              ElementsAre("/data/train/columns/y"));
}

TEST(loss_job, of_a_score_refuses_metrics_of_probabilities) {
  const job_result found =
      parse_with({"/train/loss=hinge", two,
                  "/evaluate/metrics=[\"roc_auc\",\"f1\",\"brier\"]"});
  ASSERT_THAT(pointers(found), ElementsAre("/evaluate/metrics/2"));
  EXPECT_THAT(found.mistakes[0].message,
              ::testing::AllOf(
                  HasSubstr("\"brier\" is of probabilities, and a model that "
                            "is trained with the loss \"hinge\" says none"),
                  HasSubstr("\"roc_auc\""), Not(HasSubstr("\"ece\"")),
                  Not(HasSubstr("\"log_loss\""))));
  EXPECT_TRUE(parse_with({"/train/loss=bce", two,
                          "/evaluate/metrics=[\"log_loss\",\"ece\"]"})
                  .value);
}

TEST(loss_job, has_the_task_of_its_label) {
  for (const loss_kind loss :
       {loss_kind::cross_entropy, loss_kind::bce, loss_kind::hinge})
    EXPECT_EQ(task_of(loss), metrics::task::classes) << to_string(loss);
  for (const loss_kind loss : {loss_kind::mse, loss_kind::huber})
    EXPECT_EQ(task_of(loss), metrics::task::number) << to_string(loss);
  EXPECT_EQ(task_of(loss_kind::next_token), metrics::task::tokens);
}

} // namespace
} // namespace ballast
