// Goal: no job lets a node learn from rows that a model is tested on; what is
// kept of a graph with such nodes is what several of their passes read. Method:
// documents as users write them.
#include "runtime/job/job.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace ballast {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json fitted_job(const std::string& nodes, json more = json::object()) {
  json document{{"data",
                 {{"sources",
                   {{"in", {{"format", "csv"}, {"uri", "a.csv"}}},
                    {"again", {{"format", "csv"}, {"uri", "a.csv"}}},
                    {"other", {{"format", "csv"}, {"uri", "b.csv"}}}}},
                  {"graph", json::parse(nodes)},
                  {"train", {{"from", "train_s"}, {"label", "y"}}},
                  {"test", {{"from", "test_s"}, {"label", "y"}}}}},
                {"model", {{"kind", "mlp"}}}};
  document["data"].merge_patch(more);
  return document;
}

std::string leak_of(const std::string& nodes, json more = json::object()) {
  const job_result read =
      parse_job(fitted_job(nodes, std::move(more)).dump(), {}, "/");
  std::string out;
  for (const failure& one : read.mistakes)
    out += one.message + "\n";
  return out;
}

const std::string behind_a_split = R"([
  {"op": "split", "from": "in", "fractions": [0.8, 0.2],
   "as": ["train", "test"]},
  {"op": "impute", "from": ["train", "test"], "columns": "x",
   "as": ["a", "b"]},
  {"op": "standardize", "from": ["a", "b"], "columns": "x",
   "as": ["train_s", "test_s"]}])";

TEST(graph_leaks, are_none_behind_a_split_or_of_another_source) {
  EXPECT_EQ(leak_of(behind_a_split), "");
  EXPECT_EQ(leak_of(R"([{"op": "standardize", "from": ["in", "other"],
                         "columns": "x", "as": ["train_s", "test_s"]}])"),
            "");
  EXPECT_EQ(leak_of(R"([{"op": "standardize", "from": "in", "columns": "x",
                         "as": "train_s"}])",
                    {{"test", nullptr}, {"test_fraction", 0}}),
            "");
}

TEST(graph_leaks, are_no_columns_that_both_parts_look_up) {
  EXPECT_EQ(leak_of(R"([
    {"op": "split", "from": "in", "fractions": [0.8, 0.2],
     "as": ["train", "test"]},
    {"op": "join", "from": ["train", "other"], "on": "id", "as": "a"},
    {"op": "join", "from": ["test", "other"], "on": "id", "as": "b"},
    {"op": "standardize", "from": ["a", "b"], "columns": "x",
     "as": ["train_s", "test_s"]}])"),
            "");
}

TEST(graph_leaks, are_rows_that_are_made_of_test_rows) {
  const std::string behind = R"([
    {"op": "split", "from": "in", "fractions": [0.8, 0.2],
     "as": ["train", "test_s"]},
    {"op": "resample", "from": "train", "label": "y", "method": "smote",
     "options": {"k_neighbors": 3}, "as": "train_s"}])";
  EXPECT_EQ(leak_of(behind), "");
  EXPECT_THAT(leak_of(R"([
    {"op": "resample", "from": "in", "label": "y", "method": "smote",
     "as": "all"},
    {"op": "split", "from": "all", "fractions": [0.8, 0.2],
     "as": ["train_s", "test_s"]}])"),
              HasSubstr("/data/graph/0/from: \"resample\" makes rows of its "
                        "input, which may hold rows of /data/test"));
  EXPECT_THAT(leak_of(R"([{"op": "resample", "from": "in", "label": "y",
                          "method": "smote", "as": "train_s"}])",
                      {{"test", nullptr}, {"test_fraction", 0.2}}),
              HasSubstr("of which /data/test_fraction makes rows"));
}

TEST(graph_nodes, that_resample_are_told_what_the_method_knows) {
  const auto refused = [](const std::string& options) {
    return leak_of(R"([
      {"op": "split", "from": "in", "fractions": [0.8, 0.2],
       "as": ["train", "test_s"]},
      {"op": "resample", "from": "train", "label": "y", "method": "smote",
       "options": )" +
                   options + R"(, "as": "train_s"}])");
  };
  EXPECT_EQ(refused(R"({"sampling_strategy": {"a": 10}, "k_policy": "shrink",
                        "k_neighbors": 2})"),
            "");
  EXPECT_THAT(refused(R"({"k_neighbours": 3})"),
              HasSubstr("/data/graph/1/options: smote has no option "
                        "'k_neighbours'"));
  EXPECT_THAT(refused(R"({"k_neighbors": "many"})"),
              HasSubstr("/data/graph/1/options/k_neighbors: expected a whole "
                        "number"));
}

TEST(graph_leaks, are_refused_with_what_to_do) {
  EXPECT_EQ(leak_of(R"([
    {"op": "standardize", "from": "in", "columns": "x", "as": "all"},
    {"op": "split", "from": "all", "fractions": [0.8, 0.2],
     "as": ["train_s", "test_s"]}])"),
            "/data/graph/0/from: \"standardize\" learns from its first input, "
            "which may hold rows of /data/test; put a \"split\" before it and "
            "its part for training first, or let /data/test come from another "
            "source\n");
  EXPECT_THAT(leak_of(R"([
    {"op": "split", "from": "in", "fractions": [0.8, 0.2],
     "as": ["train", "test"]},
    {"op": "standardize", "from": ["test", "train"], "columns": "x",
     "as": ["test_s", "train_s"]}])"),
              HasSubstr("may hold rows of /data/test"))
      << "the wrong order";
  EXPECT_THAT(leak_of(R"([{"op": "standardize", "from": ["in", "again"],
                           "columns": "x", "as": ["train_s", "test_s"]}])"),
              HasSubstr("may hold rows of /data/test"))
      << "two names for one file";
  EXPECT_THAT(leak_of(R"([
    {"op": "split", "from": "in", "fractions": [0.8, 0.2],
     "as": ["train", "test"]},
    {"op": "concat", "from": ["train", "in"], "as": "more"},
    {"op": "standardize", "from": ["more", "test"], "columns": "x",
     "as": ["train_s", "test_s"]}])"),
              HasSubstr("/data/graph/2/from: \"standardize\" learns"))
      << "mixed with all rows";
  EXPECT_THAT(leak_of(R"([{"op": "standardize", "from": "in", "columns": "x",
                           "as": "train_s"}])",
                      {{"test", nullptr}}),
              HasSubstr("of which /data/test_fraction makes rows of the test "
                        "set"));
}

TEST(graph_leaks, are_none_of_nodes_that_learn_nothing) {
  EXPECT_EQ(leak_of(R"([
    {"op": "log", "from": "in", "columns": "x", "as": "all"},
    {"op": "split", "from": "all", "fractions": [0.8, 0.2],
     "as": ["train_s", "test_s"]}])"),
            "");
}

TEST(fitted_nodes, have_a_name_for_each_input) {
  EXPECT_THAT(leak_of(R"([
    {"op": "split", "from": "in", "fractions": [0.8, 0.2],
     "as": ["train_s", "test_s"]},
    {"op": "standardize", "from": ["train_s", "test_s"], "columns": "x",
     "as": "one"}])"),
              HasSubstr("/data/graph/1/as: \"standardize\" has a name for each "
                        "of its 2 inputs, found 1"));
}

TEST(fitted_nodes, read_again_what_is_kept_before_them) {
  const job_result read = parse_job(fitted_job(behind_a_split).dump(), {}, "/");
  ASSERT_TRUE(read.value);
  const std::vector<graph::node>& nodes = read.value->data.graph;
  const graph::wiring wires({"again", "in", "other"}, nodes);
  EXPECT_THAT(graph::kept_nodes(wires, nodes, *wires.find("train_s")),
              ElementsAre(0))
      << "the split, for two fits and the rows";
  EXPECT_THAT(graph::learned_from(wires, nodes), ElementsAre(0, 1));
  EXPECT_EQ(wires.needs(*wires.find("test_s")).sources.size(), 1u);
}

TEST(fitted_nodes, need_no_source_of_another_output) {
  const job_result read =
      parse_job(fitted_job(R"([{"op": "standardize", "from": ["in", "other"],
                      "columns": "x", "as": ["train_s", "test_s"]}])")
                    .dump(),
                {}, "/");
  ASSERT_TRUE(read.value);
  const graph::wiring wires({"again", "in", "other"}, read.value->data.graph);
  EXPECT_THAT(wires.needs(*wires.find("train_s")).sources, ElementsAre(1));
  EXPECT_THAT(wires.needs(*wires.find("test_s")).sources, ElementsAre(1, 2));
}

} // namespace
} // namespace ballast
