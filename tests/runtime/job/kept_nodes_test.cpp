// Goal: what several nodes of a graph read is computed once, so that no graph
// reads its sources more often than it has inputs; and what a node draws hangs
// on its name. Method: graphs as jobs write them.
#include "runtime/job/job.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace ballast {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

job graph_of(const std::string& nodes) {
  const json document{
      {"data",
       {{"sources", {{"in", {{"format", "csv"}, {"uri", "a.csv"}}}}},
        {"graph", json::parse(nodes)},
        {"train", {{"from", "out"}, {"label", "y"}}}}},
      {"model", {{"kind", "mlp"}}}};
  const job_result read = parse_job(document.dump(), {}, "/");
  EXPECT_TRUE(read.value) << (read.mistakes.empty() ? ""
                                                    : read.mistakes[0].message);
  return *read.value;
}

std::set<size_t> kept(const std::string& nodes) {
  const job what = graph_of(nodes);
  const graph::wiring wires({"in"}, what.data.graph);
  return graph::kept_nodes(wires, what.data.graph, *wires.find("out"));
}

TEST(kept_nodes, are_those_that_several_read) {
  EXPECT_THAT(kept(R"([{"op": "sort", "from": "in", "by": "x", "as": "a"},
                       {"op": "join", "from": ["a", "a"], "on": "x"},
                       {"op": "limit", "rows": 3, "as": "out"}])"),
              ElementsAre(0));
  EXPECT_THAT(kept(R"([{"op": "sort", "from": "in", "by": "x", "as": "a"},
                       {"op": "concat", "from": ["a", "in"], "as": "out"}])"),
              IsEmpty());
}

TEST(kept_nodes, are_not_those_that_only_another_output_reads) {
  EXPECT_THAT(kept(R"([{"op": "shuffle", "from": "in", "as": "out"},
                       {"op": "limit", "from": "out", "rows": 3, "as": "b"},
                       {"op": "limit", "from": "out", "rows": 4, "as": "c"}])"),
              IsEmpty());
}

TEST(kept_nodes, are_not_a_few_that_change_rows_of_a_source) {
  EXPECT_THAT(kept(R"([{"op": "filter", "from": "in", "where": "x > 1",
                        "as": "a"},
                       {"op": "concat", "from": ["a", "a"], "as": "out"}])"),
              IsEmpty());
  std::string nodes = R"({"op": "filter", "from": "in", "where": "x > 1"},)";
  for (size_t i = 0; i < graph::read_again_max; ++i)
    nodes += R"({"op": "filter", "where": "x > 1", "as": "a)" +
             std::to_string(i) + "\"},";
  EXPECT_THAT(kept("[" + nodes + R"({"op": "concat", "from": ["a7", "a7"],
                                     "as": "out"}])"),
              ElementsAre(8));
}

TEST(kept_nodes, are_those_that_say_so_behind_a_source) {
  EXPECT_THAT(kept(R"([{"op": "filter", "from": "in", "where": "x > 1"},
                       {"op": "cache", "as": "a"},
                       {"op": "concat", "from": ["a", "a"], "as": "out"}])"),
              ElementsAre(1));
  EXPECT_THAT(kept(R"([{"op": "cache", "from": "in", "as": "out"}])"),
              IsEmpty());
}

TEST(kept_nodes, are_those_that_one_reads_twice) {
  EXPECT_THAT(kept(R"([{"op": "distinct", "from": "in"},
                       {"op": "split", "fractions": [0.5, 0.5], "by": "time",
                        "column": "x", "as": ["out", "rest"]}])"),
              ElementsAre(0));
  EXPECT_THAT(kept(R"([{"op": "distinct", "from": "in"},
                       {"op": "repeat", "times": 3, "as": "out"}])"),
              ElementsAre(0));
  EXPECT_THAT(kept(R"([{"op": "distinct", "from": "in"},
                       {"op": "split", "fractions": [0.5, 0.5],
                        "as": ["out", "rest"]}])"),
              IsEmpty());
}

TEST(draws, hang_on_the_name_and_not_on_the_place_of_a_node) {
  const job few = graph_of(R"([{"op": "shuffle", "from": "in"},
                               {"op": "split", "fractions": [0.5, 0.5],
                                "as": ["out", "rest"]}])");
  const job more = graph_of(R"([{"op": "limit", "from": "in", "rows": 9},
                                {"op": "shuffle", "from": "in", "as": "named"},
                                {"op": "shuffle", "from": "in"},
                                {"op": "shuffle"},
                                {"op": "split", "fractions": [0.5, 0.5],
                                 "as": ["out", "rest"]}])");
  EXPECT_EQ(graph::draws_as(few.data.graph, 0), "shuffle 1");
  EXPECT_EQ(graph::draws_as(more.data.graph, 2), "shuffle 1");
  EXPECT_EQ(graph::draws_as(more.data.graph, 3), "shuffle 2");
  EXPECT_EQ(graph::draws_as(few.data.graph, 1), "out, rest");
  EXPECT_EQ(graph::draws_as(more.data.graph, 4), "out, rest");
}

} // namespace
} // namespace ballast
