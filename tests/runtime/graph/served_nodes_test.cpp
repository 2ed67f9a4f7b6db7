// Goal: a new row takes the way of the training rows through the nodes that
// change rows, and by those that choose them; without the label if it lacks it.
// Method: graphs as jobs have them.
#include "runtime/graph/served_nodes.hpp"

#include <gtest/gtest.h>

namespace ballast::graph {
namespace {

using texts = std::vector<std::string>;
using by_column = std::map<std::string, std::string>;

node made(op what, const texts& from, const texts& as,
          std::map<std::string, option_value> options = {}) {
  return {what, from, as, std::move(options)};
}

node split() {
  return made(op::split, {"people"}, {"train", "test"},
              {{"fractions", std::vector<double>{0.8, 0.2}}});
}

served_graph serve(const std::vector<node>& nodes, const std::string& from,
                   const std::string& without_label = {}) {
  return served_nodes({"more", "people"}, nodes, from, without_label);
}

TEST(served_nodes, of_a_source_alone_are_none) {
  const served_graph out = serve({}, "people");
  EXPECT_FALSE(out.mistake);
  EXPECT_EQ(out.rows, (output{true, 1, 0}));
  EXPECT_EQ(out.source, 1u);
}

TEST(served_nodes, pass_by_what_chooses_orders_and_adds_rows) {
  std::vector<node> nodes{
      made(op::filter, {"people"}, {"labelled"}, {{"where", "y is not null"}}),
      split()};
  nodes[1].from = {"labelled"};
  nodes.push_back(made(op::standardize, {"train", "test"}, {"a", "b"}));
  for (const op one : {op::shuffle, op::sample, op::resample, op::repeat,
                       op::sort, op::limit, op::distinct, op::cache})
    nodes.push_back(made(one, {}, {}));
  const served_graph out = serve(nodes, "people");
  EXPECT_EQ(out.rows, (output{true, 1, 0}));
  nodes.back().as = {"out"};
  const served_graph way = serve(nodes, "out");
  EXPECT_FALSE(way.mistake);
  EXPECT_EQ(way.rows, (output{false, 2, 0}));
  EXPECT_EQ(way.nodes[2].from, (texts{"people", "test"}));
  EXPECT_EQ(way.nodes.size(), nodes.size());
}

TEST(served_nodes, lead_through_the_input_that_is_trained_on) {
  const std::vector<node> nodes{
      split(), made(op::impute, {"test", "train"}, {"t1", "r1"}),
      made(op::standardize, {"t1", "r1"}, {"t2", "r2"})};
  const served_graph out = serve(nodes, "r2");
  EXPECT_EQ(out.nodes[1].from, (texts{"test", "people"}));
  EXPECT_EQ(out.nodes[2].from, (texts{"t1", "r1"}));
  EXPECT_EQ(out.rows, (output{false, 2, 1}));
}

TEST(served_nodes, without_a_name_keep_that_of_messages) {
  const std::vector<node> nodes{made(op::derive, {"people"}, {},
                                     {{"columns", by_column{{"z", "x * 2"}}}}),
                                made(op::prefetch, {}, {}),
                                made(op::standardize, {}, {"out"})};
  const served_graph out = serve(nodes, "out");
  EXPECT_EQ(out.nodes[0].as, texts{name_of(nodes, 0)});
  EXPECT_EQ(name_of(out.nodes, 0), name_of(nodes, 0));
  EXPECT_EQ(out.nodes[2].from, texts{name_of(nodes, 0)});
}

TEST(served_nodes, do_not_name_a_label_that_is_not_there) {
  const std::vector<node> nodes{
      made(op::check, {"people"}, {},
           {{"rules", by_column{{"kind", R"({"not_null": true})"},
                                {"x", R"({"min": 0})"}}}}),
      made(op::rename, {}, {}, {{"columns", by_column{{"kind", "y"}}}}),
      made(op::cast, {}, {}, {{"columns", by_column{{"y", "text"}}}}),
      made(op::select, {}, {"out"}, {{"columns", texts{"x", "y"}}})};
  const served_graph out = serve(nodes, "out", "y");
  EXPECT_EQ(value_of<texts>(out.nodes[3], "columns"), texts{"x"});
  EXPECT_TRUE(value_of<by_column>(out.nodes[2], "columns").empty());
  EXPECT_TRUE(value_of<by_column>(out.nodes[1], "columns").empty());
  EXPECT_EQ(value_of<by_column>(out.nodes[0], "rules").size(), 1u);
  EXPECT_TRUE(value_of<by_column>(out.nodes[0], "rules").contains("x"));
  const served_graph with = serve(nodes, "out");
  EXPECT_EQ(value_of<texts>(with.nodes[3], "columns"), (texts{"x", "y"}));
}

TEST(served_nodes, that_make_other_rows_are_refused_by_name) {
  for (const op one : {op::join, op::zip, op::flat_map, op::batch}) {
    const std::vector<node> nodes{made(one, {"people", "more"}, {"out"})};
    const served_graph out = serve(nodes, "out");
    EXPECT_EQ(out.mistake.code, errc::invalid_job);
    EXPECT_EQ(out.mistake.pointer, "/data/graph/0");
    EXPECT_NE(out.mistake.message.find(to_string(one)), std::string::npos);
  }
}

} // namespace
} // namespace ballast::graph
