// Goal: a card says what a run knows, leaves out what it does not, and is no
// place for a user's text to break out of. Method: cards of small facts.
#include "data/export/model_card.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace ballast::data {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct model_card_test : ::testing::Test {
  json job = json::parse(R"({
    "name": "plants", "seed": 7,
    "card": {},
    "data": {"train": {"format": "csv"}},
    "model": {"kind": "mlp", "hidden": [4], "init": "seeded"},
    "train": {"loss": "cross_entropy", "epochs": 3, "global_batch": 8,
              "precision": "float32", "optimizer": {"kind": "sgd", "lr": 0.1}}
  })");
  json set = json::parse(R"({
    "label": "kind", "content_id": "abc", "class_names": ["fig", "pear"],
    "columns": ["x", "y"], "sources": ["plants.csv"],
    "train_rows": 90, "test_rows": 10,
    "row": {"classes": 2, "vocabulary": 0, "shape": [2], "stored": "float32",
            "scale": 1.0, "offset": 0.0}
  })");
  json report = json::parse(R"({
    "state": "done", "steps": 30, "samples": 240, "test_loss": 0.5,
    "test_metrics": {"f1_macro": 0.75}, "weights_sha256": "00ff",
    "model_step": 30
  })");
  nlohmann::ordered_json card() const {
    return model_card({job, set, report, 22});
  }
};

TEST_F(model_card_test, says_what_goes_in_what_comes_out_and_how_good_it_is) {
  const auto made = card();
  EXPECT_EQ(made["model"]["parameters"], 22);
  EXPECT_FALSE(made["model"].contains("init"));
  EXPECT_EQ(made["input"]["columns"], json({"x", "y"}));
  EXPECT_EQ(made["output"]["classes"], json({"fig", "pear"}));
  EXPECT_EQ(made["metrics"]["loss"], 0.5);
  EXPECT_EQ(made["metrics"]["f1_macro"], 0.75);
  EXPECT_EQ(made["data"]["fingerprint"], "abc");
  EXPECT_EQ(made["step"], 30);
  const std::string text = card_text(made);
  EXPECT_THAT(text, StartsWith("---\nlibrary_name: ballast\n---\n\n# plants"));
  EXPECT_THAT(text, HasSubstr("| classes | fig, pear |"));
  EXPECT_THAT(text, HasSubstr("| f1_macro | 0.75 |"));
}

TEST_F(model_card_test, leaves_out_what_nobody_said) {
  report = json::object();
  set.erase("columns");
  const auto made = card();
  EXPECT_TRUE(made["metrics"].empty());
  EXPECT_FALSE(made["input"].contains("columns"));
  EXPECT_FALSE(made.contains("weights_sha256"));
  EXPECT_THAT(card_text(made), Not(HasSubstr("On the test part")));
}

TEST_F(model_card_test, keeps_a_users_text_inside_its_cell) {
  job["card"] = {{"licence", "MIT\nevil: true"}, {"use", "a | b\n# c"}};
  const std::string text = card_text(card());
  EXPECT_THAT(text, HasSubstr("license: \"MIT\\nevil: true\"\n"));
  EXPECT_THAT(text, Not(HasSubstr("\n# c")));
  EXPECT_THAT(text, HasSubstr("a \\| b"));
}

TEST_F(model_card_test, counts_columns_that_are_too_many_to_name) {
  json names = json::array();
  for (int i = 0; i < 45; ++i)
    names.push_back("c" + std::to_string(i));
  set["columns"] = names;
  const auto made = card();
  EXPECT_EQ(made["input"]["columns"].size(), 45U);
  EXPECT_THAT(card_text(made), HasSubstr("c39 and 5 more |"));
}

} // namespace
} // namespace ballast::data
