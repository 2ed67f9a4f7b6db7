// Goal: a job with a graph is read, checked and written as any other.
// Method: documents as users write them.
#include "runtime/job/job.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ballast {
namespace {

using nlohmann::json;

json with_graph(json graph, json train = {{"from", "clean"}, {"label", "y"}}) {
  return {{"data",
           {{"sources",
             {{"people", {{"format", "csv"}, {"uri", "people.csv"}}},
              {"cities", {{"format", "parquet"}, {"uri", "c.parquet"}}}}},
            {"graph", std::move(graph)},
            {"train", std::move(train)}}},
          {"model", {{"kind", "mlp"}}}};
}

job_result read(const json& document) {
  return parse_job(document.dump(), {}, "/jobs");
}

std::string mistakes_of(const json& document) {
  std::string out;
  for (const failure& one : read(document).mistakes)
    out += one.message + "\n";
  return out;
}

TEST(graph_job, is_written_as_it_was_read) {
  const json document = with_graph(json::parse(R"([
    {"op": "filter", "from": "people", "where": "age > 18"},
    {"op": "join", "from": ["cities", "people"], "on": "city", "kind": "left",
     "as": "joined"},
    {"op": "derive", "columns": {"z": "age * 2"}, "as": "clean"}])"));
  const job_result read_once = read(document);
  ASSERT_TRUE(read_once.value) << mistakes_of(document);
  const job& what = *read_once.value;
  EXPECT_EQ(what.data.train.format, source_format::graph);
  EXPECT_EQ(what.data.train.from, "clean");
  EXPECT_EQ(what.data.sources.at("people").uri, "/jobs/people.csv");
  ASSERT_EQ(what.data.graph.size(), 3u);
  EXPECT_EQ(what.data.graph[1].from,
            (std::vector<std::string>{"cities", "people"}));
  EXPECT_EQ(graph::value_of<std::vector<std::string>>(what.data.graph[1], "on"),
            std::vector<std::string>{"city"});
  EXPECT_EQ(graph::value_of<std::string>(what.data.graph[1], "suffix"),
            "_right");
  const job_result again = read(to_json(what));
  ASSERT_TRUE(again.value);
  EXPECT_EQ(to_json(*again.value), to_json(what));
  EXPECT_EQ(again.value->data.graph, what.data.graph);
}

TEST(graph_job, needs_no_graph_to_train_on_a_source) {
  EXPECT_EQ(mistakes_of(with_graph(json::array(),
                                   {{"from", "people"}, {"label", "y"}})),
            "");
}

TEST(graph_job, names_what_is_near_a_name_that_is_not_there) {
  EXPECT_EQ(mistakes_of(with_graph({{{"op", "limit"},
                                     {"from", "peple"},
                                     {"rows", 3},
                                     {"as", "clean"}}})),
            "/data/graph/0/from/0: there is no source and no node before it "
            "with the name \"peple\"; did you mean \"people\"?\n");
  EXPECT_EQ(mistakes_of(
                with_graph(json::array(), {{"from", "citis"}, {"label", "y"}})),
            "/data/train/from: there is no source and no node with the name "
            "\"citis\"; did you mean \"cities\"?\n");
}

TEST(graph_job, has_no_cycle) {
  EXPECT_EQ(
      mistakes_of(with_graph(
          {{{"op", "limit"}, {"from", "clean"}, {"rows", 3}, {"as", "a"}},
           {{"op", "limit"}, {"from", "a"}, {"rows", 3}, {"as", "clean"}}})),
      "/data/graph/0/from/0: \"clean\" is this node, or one behind it; a node "
      "reads sources and nodes before it, so that there is no cycle\n");
}

TEST(graph_job, refuses_an_operator_and_an_option_that_are_not_there) {
  EXPECT_EQ(
      mistakes_of(with_graph({{{"op", "filtre"}, {"as", "clean"}}})),
      "/data/graph/0/op: expected one of \"filter\", \"check\", \"select\", "
      "\"drop\", \"rename\", \"cast\", \"derive\", \"flat_map\", "
      "\"map\", \"limit\", \"repeat\", \"batch\", \"unbatch\", "
      "\"concat\", \"zip\", \"mix\", \"join\", \"sort\", \"distinct\", "
      "\"shuffle\", \"sample\", \"resample\", \"split\", \"cache\", "
      "\"prefetch\", \"impute\", \"standardize\", \"min_max\", \"max_abs\", "
      "\"robust\", \"power\", \"quantile\", \"log\", "
      "\"clip_outliers\", \"bin\", \"one_hot\", \"ordinal\", "
      "\"hash_encode\", \"target_encode\", \"tf_idf\", \"hash_text\", "
      "\"polynomial\", "
      "\"date_parts\", \"select_features\", \"pca\", found "
      "\"filtre\"; did you mean \"filter\"?\n");
  EXPECT_EQ(mistakes_of(with_graph({{{"op", "limit"},
                                     {"from", "people"},
                                     {"rows", 2},
                                     {"as", "clean"},
                                     {"where", "a > 1"}}})),
            "/data/graph/0/where: has no place here; it belongs to op "
            "\"filter\"\n");
  EXPECT_EQ(
      mistakes_of(with_graph({{{"op", "cast"},
                               {"from", "people"},
                               {"columns", {{"a", "flaot64"}}},
                               {"as", "clean"}}})),
      "/data/graph/0/columns/a: expected one of \"int64\", \"float64\", "
      "\"bool\", \"text\", \"date\", \"timestamp\", found \"flaot64\"; did you "
      "mean \"float64\"?\n");
}

TEST(graph_job, says_what_each_operator_needs) {
  EXPECT_EQ(mistakes_of(with_graph({{{"op", "join"},
                                     {"from", "people"},
                                     {"on", {"id"}},
                                     {"as", "clean"}}})),
            "/data/graph/0/from: \"join\" reads 2 inputs, found 1\n");
  EXPECT_EQ(mistakes_of(with_graph(
                {{{"op", "sort"}, {"from", "people"}, {"as", "clean"}}})),
            "/data/graph/0/by: is required: text, or a list of 1 to 4096 "
            "items, each text\n");
  EXPECT_EQ(mistakes_of(with_graph({{{"op", "split"},
                                     {"from", "people"},
                                     {"fractions", {0.5, 0.4}},
                                     {"as", {"clean", "rest"}}}})),
            "/data/graph/0/fractions: they do not sum to 1\n");
  EXPECT_EQ(mistakes_of(with_graph({{{"op", "split"},
                                     {"from", "people"},
                                     {"by", "group"},
                                     {"fractions", {0.5, 0.5}},
                                     {"as", {"clean", "rest"}}}})),
            "/data/graph/0/column: is required with by \"group\"\n");
  EXPECT_EQ(mistakes_of(
                with_graph({{{"op", "limit"}, {"rows", 3}, {"as", "clean"}}})),
            "/data/graph/0/from: is required here: what \"limit\" reads; there "
            "are \"cities\", \"people\"\n");
}

TEST(graph_job, knows_each_name_once) {
  EXPECT_EQ(mistakes_of(with_graph({{{"op", "limit"},
                                     {"from", "people"},
                                     {"rows", 3},
                                     {"as", "cities"}}},
                                   {{"from", "cities"}, {"label", "y"}})),
            "/data/graph/0/as/0: the name \"cities\" is taken; expected a name "
            "of its own\n");
}

TEST(graph_job, refuses_sources_that_are_no_tables_or_have_no_name) {
  json document =
      with_graph(json::array(), {{"from", "people"}, {"label", "y"}});
  document["data"]["sources"]["a/b"] = {{"format", "csv"}, {"uri", "x.csv"}};
  EXPECT_NE(mistakes_of(document).find("\"a/b\" is no name"),
            std::string::npos);
  document["data"]["sources"] = json::array();
  EXPECT_EQ(mistakes_of(document),
            "/data/sources: expected an object, found a list of 0\n");
}

json with_map(const json& more) {
  json node{{"op", "map"},
            {"from", "people"},
            {"library", "libmine.so"},
            {"function", "f"},
            {"as", "clean"}};
  node.update(more);
  return with_graph(json::array({node}));
}

TEST(graph_job, keeps_any_options_of_an_operator_of_the_users) {
  const json options =
      json::parse(R"({"a": [1, 2.5, {"b": null}], "c": "text", "d": true})");
  const job_result once = read(with_map({{"options", options}}));
  ASSERT_TRUE(once.value);
  const json written = to_json(*once.value);
  EXPECT_EQ(written["data"]["graph"][0]["options"], options);
  EXPECT_EQ(written["data"]["graph"][0]["library"], "/jobs/libmine.so");
  const job_result again = read(written);
  ASSERT_TRUE(again.value);
  EXPECT_EQ(to_json(*again.value), written);
  EXPECT_EQ(again.value->data.graph, once.value->data.graph);
}

TEST(graph_job, says_that_an_object_without_keys_says_nothing) {
  EXPECT_EQ(mistakes_of(with_graph(json::array({{{"op", "check"},
                                                 {"from", "people"},
                                                 {"as", "clean"},
                                                 {"rules", json::object()}}}))),
            "/data/graph/0/rules: expected keys, found {}\n");
}

TEST(graph_job, says_what_an_operator_of_the_users_needs) {
  EXPECT_EQ(mistakes_of(with_map({{"options", {1, 2}}})),
            "/data/graph/0/options: expected an object, found a list of 2\n");
  EXPECT_EQ(mistakes_of(with_map({{"library", ""}, {"function", 3}})),
            "/data/graph/0/library: expected a path of 1 to 4096 bytes, found "
            "\"\"\n/data/graph/0/function: expected text, found 3\n");
  EXPECT_EQ(
      mistakes_of(with_map({{"options", {{"a", std::string(70000, 'a')}}}})),
      "/data/graph/0/options/a: expected at most 65536 bytes\n");
  EXPECT_EQ(mistakes_of(with_map({{"rows", 0}})),
            "/data/graph/0/rows: expected an integer from 1 to 16384, found "
            "0\n");
}

TEST(graph_job, lists_files_in_a_graph_only) {
  json document = with_graph(
      {{{"op", "limit"}, {"from", "people"}, {"rows", 1}, {"as", "clean"}}});
  document["data"]["sources"]["people"] = {{"format", "list_files"},
                                           {"uri", "photos/*.jpg"}};
  const job_result listed = read(document);
  ASSERT_TRUE(listed.value) << mistakes_of(document);
  EXPECT_EQ(listed.value->data.sources.at("people").uri, "/jobs/photos/*.jpg");
  EXPECT_EQ(to_json(*read(to_json(*listed.value)).value),
            to_json(*listed.value));
  document["data"]["train"] = {{"format", "list_files"}, {"uri", "*.jpg"}};
  EXPECT_NE(mistakes_of(document).find("/data/train/format: expected one of"),
            std::string::npos);
}

TEST(wiring, knows_what_an_output_needs) {
  const job_result result = read(with_graph(json::parse(R"([
    {"op": "limit", "from": "cities", "rows": 1, "as": "one"},
    {"op": "limit", "from": "people", "rows": 1, "as": "clean"}])")));
  ASSERT_TRUE(result.value);
  const graph::wiring wires({"cities", "people"}, result.value->data.graph);
  const auto needed = wires.needs(*wires.find("clean"));
  EXPECT_EQ(needed.nodes, std::set<size_t>{1});
  EXPECT_EQ(needed.sources, std::set<size_t>{1});
}

TEST(graph_job, refuses_what_would_be_ignored) {
  EXPECT_EQ(mistakes_of(with_graph({{{"op", "sort"},
                                     {"from", "people"},
                                     {"by", {"a", "b"}},
                                     {"descending", {"b", "c"}},
                                     {"as", "clean"}}})),
            "/data/graph/0/descending: \"c\" is none of \"by\", which are "
            "\"a\", \"b\"\n");
  EXPECT_EQ(mistakes_of(with_graph({{{"op", "split"},
                                     {"from", "people"},
                                     {"column", "a"},
                                     {"fractions", {0.5, 0.5}},
                                     {"as", {"clean", "rest"}}}})),
            "/data/graph/0/column: means nothing with by \"random\"; leave it "
            "out, or say by \"stratified\", \"group\" or \"time\"\n");
}

TEST(graph_job, refuses_a_part_that_would_have_no_row) {
  EXPECT_EQ(mistakes_of(with_graph({{{"op", "split"},
                                     {"from", "people"},
                                     {"fractions", {0.9999, 0.0001}},
                                     {"as", {"clean", "rest"}}}})),
            "/data/graph/0/fractions: expected at least 0.001 for each part: "
            "rows are dealt in runs of at most 1000, of which a smaller part "
            "would have none\n");
}

} // namespace
} // namespace ballast
