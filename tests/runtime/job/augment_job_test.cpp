// Goal: the steps of data.augment are read, checked and written as any other
// part of a job. Method: documents as users write them.
#include "runtime/job/job.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ballast {
namespace {

using nlohmann::json;

json with_augment(json steps, json data = json::object()) {
  data["train"] = {{"format", "images"}, {"uri", "photos"}, {"size", {40, 48}}};
  data["augment"] = std::move(steps);
  return {{"data", std::move(data)}, {"model", {{"kind", "resnet18"}}}};
}

std::string augment_mistakes(const json& document) {
  std::string out;
  for (const failure& one : parse_job(document.dump(), {}, "/jobs").mistakes)
    out += one.message + "\n";
  return out;
}

TEST(augment_job, is_written_as_it_was_read) {
  const json document = with_augment(json::parse(R"([
    {"op": "resized_crop", "size": 32},
    {"op": "crop", "size": [28, 30], "padding": 2},
    {"op": "flip", "axis": "vertical"},
    {"op": "rotate", "degrees": 15},
    {"op": "colour", "brightness": 0.2, "saturation": 0.5},
    {"op": "normalise", "mean": [0.4, 0.5, 0.6], "std": 0.2}])"));
  const job_result read = parse_job(document.dump(), {}, "/jobs");
  ASSERT_TRUE(read.value) << augment_mistakes(document);
  const std::vector<augment::step>& steps = read.value->data.augment;
  ASSERT_EQ(steps.size(), 6u);
  EXPECT_EQ(augment::value_of<std::vector<uint32_t>>(steps[0], "size"),
            std::vector<uint32_t>{32});
  EXPECT_EQ(augment::value_of<std::vector<double>>(steps[0], "scale"),
            (std::vector<double>{0.08, 1}));
  EXPECT_EQ(augment::value_of<uint64_t>(steps[1], "padding"), 2u);
  EXPECT_EQ(augment::value_of<double>(steps[2], "probability"), 0.5);
  EXPECT_EQ(augment::value_of<std::string>(steps[2], "axis"), "vertical");
  EXPECT_EQ(augment::value_of<double>(steps[4], "contrast"), 0);
  const json written = to_json(*read.value);
  const job_result again = parse_job(written.dump(), {}, "/jobs");
  ASSERT_TRUE(again.value);
  EXPECT_EQ(again.value->data.augment, steps);
  EXPECT_EQ(to_json(*again.value), written);
}

TEST(augment_job, refuses_what_no_operator_has) {
  EXPECT_EQ(augment_mistakes(with_augment({{{"op", "flipp"}}})),
            "/data/augment/0/op: expected one of \"crop\", \"resized_crop\", "
            "\"flip\", \"rotate\", \"colour\", \"normalise\", found "
            "\"flipp\"; did you mean \"flip\"?\n");
  EXPECT_EQ(augment_mistakes(with_augment({{{"op", "flip"}, {"degrees", 3}}})),
            "/data/augment/0/degrees: has no place here; it belongs to op "
            "\"rotate\"\n");
  EXPECT_EQ(
      augment_mistakes(with_augment({{{"op", "flip"}, {"probability", 1.5}}})),
      "/data/augment/0/probability: expected a number from 0 to 1, found "
      "1.5\n");
  EXPECT_EQ(augment_mistakes(with_augment({{{"op", "crop"}}})),
            "/data/augment/0/size: is required: an integer from 1 to 1024, or "
            "a list of 1 to 2 items, each an integer from 1 to 1024\n");
  EXPECT_EQ(augment_mistakes(with_augment(
                {{{"op", "normalise"}, {"mean", 0.5}, {"std", 0}}})),
            "/data/augment/0/std/0: expected a number above 0 to 1000000, "
            "found 0\n");
}

TEST(augment_job, refuses_ranges_in_the_wrong_order) {
  EXPECT_EQ(augment_mistakes(with_augment({{{"op", "resized_crop"},
                                            {"size", 8},
                                            {"scale", {0.5, 0.2}},
                                            {"ratio", {2, 1}}}})),
            "/data/augment/0/scale: the first is larger than the second; "
            "expected the least, then the largest\n"
            "/data/augment/0/ratio: the first is larger than the second; "
            "expected the least, then the largest\n");
}

TEST(augment_job, has_normalise_as_its_last_step) {
  EXPECT_EQ(
      augment_mistakes(with_augment(
          {{{"op", "normalise"}, {"mean", 0}, {"std", 1}}, {{"op", "flip"}}})),
      "/data/augment/0/op: \"normalise\" is the last step, because the "
      "others work on colours; put it behind them\n");
}

TEST(augment_job, refuses_a_part_that_is_larger_than_the_image) {
  EXPECT_EQ(augment_mistakes(with_augment({{{"op", "crop"}, {"size", 41}}})),
            "/data/augment/0/size: 41 x 41 is larger than the image, which has "
            "40 x 48 here; expected at most that, or more padding\n");
  EXPECT_EQ(augment_mistakes(
                with_augment({{{"op", "crop"}, {"size", 41}, {"padding", 1}}})),
            "");
  // The second step sees what the first one made.
  EXPECT_EQ(augment_mistakes(
                with_augment({{{"op", "crop"}, {"size", 20}},
                              {{"op", "crop"}, {"size", 30}, {"padding", 4}}})),
            "/data/augment/1/size: 30 x 30 is larger than the image, which has "
            "28 x 28 with its padding here; expected at most that, or more "
            "padding\n");
}

TEST(augment_job, needs_images) {
  json document = with_augment({{{"op", "flip"}}});
  document["data"]["train"] = {
      {"format", "synthetic"}, {"rows", 10}, {"classes", 2}, {"features", 64}};
  const std::string none =
      "/data/augment: a row of this data set has the shape [64], which is no "
      "image; expected [1, height, width] or [3, height, width], which the "
      "step \"reshape\" of data.pipeline gives to rows that hold one\n";
  EXPECT_EQ(augment_mistakes(document), none);
  document["data"]["pipeline"] = {{{"op", "reshape"}, {"shape", {1, 8, 8}}}};
  EXPECT_EQ(augment_mistakes(document), "");
  document["data"]["augment"] = {
      {{"op", "normalise"}, {"mean", {1, 2, 3}}, {"std", 1}}};
  EXPECT_EQ(augment_mistakes(document),
            "/data/augment/0/mean: 3 values for 1 channel; expected one for "
            "each, or one for all\n");
  document["data"]["augment"] = {{{"op", "colour"}, {"saturation", 0.1}}};
  EXPECT_EQ(augment_mistakes(document),
            "/data/augment/0/saturation: an image of one channel has none; "
            "leave it out\n");
}

} // namespace
} // namespace ballast
