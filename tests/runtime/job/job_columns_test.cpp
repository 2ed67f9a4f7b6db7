// Goal: a job states the types of columns where files do not, and is refused
// where they do, or where what is trained on would be no number.
#include "runtime/job/job.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ballast {
namespace {

using nlohmann::json;

json with_columns(json train, json sources = json::object()) {
  train["label"] = "y";
  return {{"data", {{"train", std::move(train)}, {"sources", sources}}},
          {"model", {{"kind", "mlp"}}}};
}

std::string refusals(const json& document) {
  std::string out;
  for (const failure& one : parse_job(document.dump(), {}, "/").mistakes)
    out += one.message + "\n";
  return out;
}

json csv_with(json columns, json features = json::array()) {
  return {{"format", "csv"},
          {"uri", "a.csv"},
          {"features", std::move(features)},
          {"columns", std::move(columns)}};
}

TEST(job_columns, are_read_and_written) {
  const json document =
      with_columns(csv_with({{"x", "float64"}, {"when", "date"}}),
                   {{"in",
                     {{"format", "jsonl"},
                      {"uri", "b.jsonl"},
                      {"columns", {{"id", "text"}}}}}});
  const job_result read = parse_job(document.dump(), {}, "/");
  ASSERT_TRUE(read.value) << refusals(document);
  EXPECT_EQ(read.value->data.train.columns.at("when"), "date");
  EXPECT_EQ(read.value->data.sources.at("in").columns.at("id"), "text");
  const json written = to_json(*read.value);
  EXPECT_EQ(written["data"]["train"]["columns"],
            json({{"x", "float64"}, {"when", "date"}}));
}

TEST(job_columns, have_types_of_a_few_words) {
  EXPECT_EQ(refusals(with_columns(csv_with({{"x", "flot64"}}))),
            "/data/train/columns/x: expected one of \"text\", \"int64\", "
            "\"float64\", \"bool\", \"date\", \"timestamp\", found "
            "\"flot64\"; did you mean \"float64\"?\n");
}

TEST(job_columns, belong_to_files_that_do_not_say_their_types) {
  const json parquet{{"format", "parquet"},
                     {"uri", "a.parquet"},
                     {"columns", {{"x", "text"}}}};
  EXPECT_EQ(refusals(with_columns(parquet)),
            "/data/train/columns: \"parquet\" says the types of its columns; "
            "change one by the operator \"cast\" of data.graph\n");
  EXPECT_EQ(refusals(with_columns(csv_with(json::object()), {{"in", parquet}})),
            "/data/sources/in/columns: \"parquet\" says the types of its "
            "columns; change one by the operator \"cast\" of data.graph\n");
  EXPECT_EQ(
      refusals(with_columns({{"from", "in"}, {"columns", {{"x", "text"}}}},
                            {{"in", {{"format", "csv"}, {"uri", "a"}}}}))
          .substr(0, 20),
      "/data/train/columns:");
}

TEST(job_columns, that_are_trained_on_are_numbers) {
  EXPECT_EQ(refusals(with_columns(csv_with({{"x", "text"}}, {"x", "z"}))),
            "/data/train/columns/x: \"x\" is named in /data/train/features, "
            "which is trained on as a number; expected \"float64\", \"int64\" "
            "or \"bool\", or leave the column out of /data/train/features\n");
  EXPECT_EQ(refusals(with_columns(csv_with({{"y", "date"}}))),
            "/data/train/columns/y: \"y\" is the label, which is trained on as "
            "a number; expected \"float64\", \"int64\" or \"bool\"\n");
  EXPECT_EQ(refusals(with_columns(csv_with({{"y", "text"}, {"q", "date"}}))),
            ""); // classes may be text
}

} // namespace
} // namespace ballast
