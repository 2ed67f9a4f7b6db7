// Goal: a graph that branches reads its sources a few times and gives the rows
// it would give otherwise, whatever the memory; what nobody should name cannot
// be named, and what nobody reads is checked. Method: long chains in which each
// node reads the one before twice.
#include "data/graph/graph_sources.hpp"
#include "tests/data/graph/graph_rows.hpp"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/json/from_string.h>
#include <cmath>

namespace ballast::data {
namespace {

using testing::ElementsAre;
namespace fs = std::filesystem;

class branching_graphs : public graph_rows {};

/// `count` nodes, each of which reads the one before twice.
std::string chain(const std::string& node, int count) {
  std::string out = R"([{"op": "limit", "from": "people", "rows": 9,
                         "as": "n0"})";
  for (int i = 1; i <= count; ++i) {
    std::string one = node;
    for (size_t at; (at = one.find("BEFORE")) != std::string::npos;)
      one.replace(at, 6, "n" + std::to_string(i - 1));
    one.replace(one.find("NAME"), 4, "n" + std::to_string(i));
    out += ", " + one;
  }
  return out + "]";
}

TEST_F(branching_graphs, of_a_long_chain_that_branches_are_computed_once) {
  const job joins = with(chain(R"({"op": "join", "from": ["BEFORE", "BEFORE"],
                                   "on": "name", "kind": "semi",
                                   "as": "NAME"})",
                               200),
                         "n200");
  EXPECT_THAT(rows_of(joins, "n200", {0}),
              ElementsAre("ann", "bob", "cat", "dan"));
  const job mixes = with(chain(R"({"op": "mix", "from": ["BEFORE", "BEFORE"]},
                    {"op": "distinct", "as": "NAME"})",
                               100),
                         "n100");
  EXPECT_THAT(rows_of(mixes, "n100", {0}),
              ElementsAre("ann", "bob", "cat", "dan"));
  const job repeats = with(chain(R"({"op": "repeat", "from": "BEFORE",
                                     "times": 3},
                                    {"op": "distinct", "as": "NAME"})",
                                 100),
                           "n100");
  EXPECT_THAT(rows_of(repeats, "n100", {0}),
              ElementsAre("ann", "bob", "cat", "dan"));
}

TEST_F(branching_graphs, of_many_splits_by_time_read_the_source_a_few_times) {
  std::string text = "x,at\n";
  for (int i = 0; i < 500; ++i)
    text += std::to_string(i) + "," + std::to_string(i) + "\n";
  write("people.csv", text);
  std::string nodes = R"([{"op": "sort", "from": "people", "by": "x",
                          "as": "n0"})";
  for (int i = 1; i <= 100; ++i)
    nodes += R"(, {"op": "split", "from": "n)" + std::to_string(i - 1) +
             R"(", "by": "time", "column": "at", "fractions": [0.5, 0.5],
                 "as": ["early)" +
             std::to_string(i) + "\", \"n" + std::to_string(i) + "\"]}";
  const job what = with(nodes + "]", "n100");
  EXPECT_LE(rows_of(what, "n100").size(), 1u);
  EXPECT_EQ(rows_of(what, "n3").size(), 62u);
}

TEST_F(branching_graphs, are_the_same_with_little_memory) {
  std::string text = "x,y\n";
  for (int i = 0; i < 50000; ++i)
    text += std::to_string(i) + "," + std::to_string(i * 7919 % 1000) + "\n";
  write("people.csv", text);
  const job what = with(R"([{"op": "shuffle", "from": "people", "as": "a"},
                            {"op": "limit", "from": "a", "rows": 20000,
                             "as": "b"},
                            {"op": "concat", "from": ["a", "b", "a"]},
                            {"op": "repeat", "times": 2, "as": "out"}])");
  const auto all = [&](uint64_t memory) {
    graph_stream rows(what.data, "out", {.seed = 1, .memory_bytes = memory});
    rows.choose({0, 1});
    return data::rows_of(rows);
  };
  EXPECT_EQ(all(1).size(), 240000u);
  EXPECT_EQ(all(1), all(uint64_t{1} << 30));
}

TEST_F(branching_graphs, of_one_split_are_all_there_in_one_pass) {
  const job what = with(R"([{"op": "shuffle", "from": "people"},
                            {"op": "split", "fractions": [0.5, 0.5],
                             "as": ["a", "b"]}])",
                        "a");
  graph_stream both(what.data, graph::output{false, 1, 0}, {.seed = what.seed},
                    graph_stream::parts::all);
  const auto schema = both.choose_all();
  EXPECT_THAT(schema->field_names(), ElementsAre("name", "age", "city"));
  std::vector<std::string> parts[2];
  while (const auto batch = both.next()) {
    const auto& part = static_cast<const arrow::UInt8Array&>(*batch->column(3));
    const auto& name =
        static_cast<const arrow::StringArray&>(*batch->column(0));
    for (int64_t i = 0; i < batch->num_rows(); ++i)
      parts[part.Value(i)].push_back(name.GetString(i));
  }
  EXPECT_EQ(parts[0], rows_of(what, "a", {0}));
  EXPECT_EQ(parts[1], rows_of(what, "b", {0}));
}

TEST_F(branching_graphs, of_a_draw_do_not_change_with_a_node_in_front) {
  std::string text = "x\n";
  for (int i = 0; i < 100; ++i)
    text += std::to_string(i) + "\n";
  write("people.csv", text);
  const std::string draws = R"({"op": "shuffle", "from": "people"},
                               {"op": "limit", "rows": 50},
                               {"op": "split", "fractions": [0.5, 0.5],
                                "as": ["out", "rest"]}])";
  EXPECT_EQ(rows("[" + draws),
            rows(R"([{"op": "limit", "from": "more", "rows": 1, "as": "z"},)" +
                 draws));
}

TEST_F(branching_graphs, have_no_origin_that_a_user_could_name) {
  for (const std::string node :
       {R"j({"op": "filter", "from": "people", "where": "\"__origin\" >= 0",
             "as": "out"})j",
        R"j({"op": "derive", "from": "people",
             "columns": {"z": "\"__origin\" + 0"}, "as": "out"})j",
        R"j({"op": "sort", "from": "people", "by": "__origin", "as": "out"})j",
        R"j({"op": "distinct", "from": "people", "on": "__origin",
             "as": "out"})j",
        R"j({"op": "select", "from": "people", "columns": "__origin",
             "as": "out"})j",
        R"j({"op": "cast", "from": "people", "columns": {"__origin": "text"},
             "as": "out"})j",
        R"j({"op": "join", "from": ["people", "more"], "on": "__origin",
             "as": "out"})j",
        R"j({"op": "split", "from": "people", "by": "group",
             "column": "__origin", "fractions": [0.5, 0.5],
             "as": ["out", "rest"]})j"}) {
    const std::string why = refusal("[" + node + "]");
    EXPECT_THAT(why, has_all({"/data/graph/0", "__origin"})) << node;
    EXPECT_EQ(why.find(", '__origin'"), std::string::npos) << why;
  }
}

TEST_F(branching_graphs, zip_names_both_that_have_a_column) {
  EXPECT_EQ(refusal(R"([{"op": "zip", "from": ["people", "more"],
                         "as": "out"}])"),
            "/data/graph/0/from: 'people' and 'more' both have a column "
            "'city'; rename one of them");
}

TEST_F(branching_graphs, of_a_split_into_too_many_strata_are_refused_early) {
  std::string text = "x\n";
  for (int i = 0; i < 3000; ++i)
    text += std::to_string(i) + "\n";
  write("people.csv", text);
  const job what = with(R"([{"op": "split", "from": "people",
                             "by": "stratified", "column": "x",
                             "fractions": [0.123, 0.877],
                             "as": ["out", "rest"]}])");
  graph_stream rows(what.data, "out", {.seed = 1, .memory_bytes = 1 << 20});
  EXPECT_THAT(refusal_of([&] { data::rows_of(rows); }),
              has_all({"/data/graph/0/column: 'x' has more than", "group"}));
}

TEST_F(branching_graphs, of_every_node_are_looked_at_before_one_is_read) {
  const job what = with(R"([{"op": "limit", "from": "people", "rows": 1,
                             "as": "out"},
                            {"op": "filter", "from": "more",
                             "where": "agee > 1", "as": "unused"}])");
  EXPECT_THAT(refusal_of([&] { schemas_of_nodes(what.data); }),
              has_all({"/data/graph/1/where", "age"}));
  EXPECT_THAT(refusal_of([&] { schemas_of_nodes_here(what.data); }),
              has_all({"/data/graph/1/where", "age"}));
  fs::remove(folder_ / "more.csv");
  EXPECT_NO_THROW(schemas_of_nodes_here(what.data)) << "it cannot know";
}

TEST_F(branching_graphs, of_a_chain_have_schemas_at_once) {
  const job what = with(chain(R"({"op": "join", "from": ["BEFORE", "BEFORE"],
                                  "on": "name", "kind": "semi",
                                  "as": "NAME"})",
                              200),
                        "n200");
  const auto schemas = schemas_of_nodes(what.data);
  ASSERT_EQ(schemas.size(), 201u);
  EXPECT_THAT(schemas.back()->field_names(),
              ElementsAre("name", "age", "city", "__origin"));
}

void write_arrow(const fs::path& path, const arrow::Table& table) {
  const auto file = *arrow::io::FileOutputStream::Open(path.string());
  const auto to = *arrow::ipc::MakeFileWriter(file, table.schema());
  ASSERT_TRUE(to->WriteTable(table).ok() && to->Close().ok());
  ASSERT_TRUE(file->Close().ok());
}

/// What pandas 3 writes for text is another type of Arrow's than what a CSV
/// file is read as.
TEST_F(branching_graphs, join_and_concat_texts_whatever_their_type) {
  arrow::LargeStringBuilder cities;
  arrow::LargeStringBuilder names;
  ASSERT_TRUE(cities.Append("rome").ok() && names.Append("eve").ok());
  const auto table = arrow::Table::Make(
      arrow::schema({arrow::field("name", arrow::large_utf8()),
                     arrow::field("city", arrow::large_utf8())}),
      {names.Finish().ValueOrDie(), cities.Finish().ValueOrDie()});
  write_arrow(folder_ / "more.arrow", *table);
  job what = with(R"([{"op": "select", "from": "people",
                       "columns": ["name", "city"], "as": "some"},
                      {"op": "concat", "from": ["some", "more"], "as": "out"}
                     ])");
  what.data.sources["more"] = what.data.sources["people"];
  what.data.sources["more"].format = source_format::arrow;
  what.data.sources["more"].uri = (folder_ / "more.arrow").string();
  EXPECT_THAT(rows_of(what), testing::Contains("eve rome"));
}

template <class Builder>
void write_numbers(const fs::path& path, const std::vector<double>& numbers) {
  Builder builder;
  for (const double one : numbers)
    ASSERT_TRUE(builder.Append(typename Builder::value_type(one)).ok());
  const auto table =
      arrow::Table::Make(arrow::schema({arrow::field("a", builder.type())}),
                         std::vector<std::shared_ptr<arrow::Array>>{
                             builder.Finish().ValueOrDie()});
  write_arrow(path, *table);
}

TEST_F(branching_graphs, lose_nothing_of_numbers_that_a_later_file_has_longer) {
  write_numbers<arrow::FloatBuilder>(folder_ / "a1.arrow", {1, 2});
  write_numbers<arrow::DoubleBuilder>(folder_ / "a2.arrow", {0.5, NAN});
  job what = with(R"([{"op": "limit", "from": "people", "rows": 9,
                       "as": "out"}])");
  what.data.sources["people"].format = source_format::arrow;
  what.data.sources["people"].uri = (folder_ / "a*.arrow").string();
  EXPECT_THAT(rows_of(what), ElementsAre("1", "2", "0.5", "nan"));
  write_numbers<arrow::DoubleBuilder>(folder_ / "a2.arrow", {0.5, 16777217});
  EXPECT_THAT(
      refusal_of([&] { rows_of(what); }),
      testing::AllOf(testing::HasSubstr("a2.arrow: column 'a': 16777217 "
                                        "cannot be kept as float"),
                     testing::HasSubstr("a1.arrow")));
}

TEST_F(branching_graphs, take_what_a_file_stores_in_an_unusual_way) {
  arrow::StringViewBuilder views;
  for (const char* text : {"b", "a text of more than twelve bytes", "b", ""})
    ASSERT_TRUE(views.Append(text).ok());
  const auto ends = arrow::json::ArrayFromJSONString(arrow::int32(), "[1, 4]");
  const auto runs = arrow::json::ArrayFromJSONString(arrow::int64(), "[7, 5]");
  const auto encoded = arrow::RunEndEncodedArray::Make(4, *ends, *runs);
  const auto table = arrow::Table::Make(
      arrow::schema({arrow::field("view", arrow::utf8_view()),
                     arrow::field("run", (*encoded)->type())}),
      {views.Finish().ValueOrDie(), *encoded});
  write_arrow(folder_ / "people.arrow", *table);
  job what = with(R"([{"op": "sort", "from": "people", "by": ["view", "run"],
                       "as": "out"}])");
  what.data.sources["people"].format = source_format::arrow;
  what.data.sources["people"].uri = (folder_ / "people.arrow").string();
  EXPECT_THAT(
      rows_of(what),
      ElementsAre("5", "a text of more than twelve bytes 5", "b 5", "b 7"));
}

} // namespace
} // namespace ballast::data
