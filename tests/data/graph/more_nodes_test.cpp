// Goal: nodes that make rows of lists, lists of rows, rows of files and rows of
// a library give what they say in a graph, and their mistakes name the field.
// Method: jobs as users write them, over small files; the rows as text.
#include "data/graph/graph_sources.hpp"
#include "data/graph/graph_stream.hpp"
#include "tests/data/graph/graph_rows.hpp"

#include <dlfcn.h>

namespace ballast::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class more_nodes : public graph_rows {
protected:
  /// The source `people` is another.
  job with_source(const std::string& nodes, source_format format,
                  const std::string& uri) const {
    job out = with(nodes);
    out.data.sources["people"].format = format;
    out.data.sources["people"].uri = (folder_ / uri).string();
    return out;
  }
  static std::string user_operators() {
    Dl_info here{};
    dladdr(reinterpret_cast<const void*>(&user_operators), &here);
    return (std::filesystem::absolute(here.dli_fname).parent_path() /
            "libuser_operators.so")
        .string();
  }
};

TEST_F(more_nodes, flat_map_makes_rows_of_the_lists_of_a_file) {
  write("a.jsonl", "{\"n\": 1, \"tags\": [\"x\", \"y\"]}\n"
                   "{\"n\": 2, \"tags\": []}\n{\"n\": 3, \"tags\": [\"z\"]}\n");
  const std::string nodes = R"j([{"op": "flat_map", "from": "people",
                                  "columns": "tags"},
                                 {"op": "derive", "as": "out",
                                  "columns": {"tag": "upper(tags)"}}])j";
  EXPECT_THAT(rows_of(with_source(nodes, source_format::jsonl, "a.jsonl")),
              ElementsAre("1 x X", "1 y Y", "3 z Z"));
}

TEST_F(more_nodes, a_row_of_a_list_is_named_by_the_row_that_has_it) {
  write("a.jsonl", "{\"tags\": [\"1\", \"2\"]}\n{\"tags\": [\"3\", \"x\"]}\n");
  const job what = with_source(R"([{"op": "flat_map", "from": "people",
                                    "columns": "tags"},
                                   {"op": "cast", "columns":
                                    {"tags": "int64"}, "as": "out"}])",
                               source_format::jsonl, "a.jsonl");
  EXPECT_THAT(refusal_of([&] { rows_of(what); }), HasSubstr("a.jsonl: row 2"));
}

TEST_F(more_nodes, batch_and_unbatch_are_opposites) {
  EXPECT_THAT(rows(R"([{"op": "select", "from": "people",
                        "columns": ["name"]},
                       {"op": "batch", "rows": 3, "as": "out"}])"),
              ElementsAre("list<item: string>[ann, bob, cat]",
                          "list<item: string>[dan]"));
  EXPECT_THAT(rows(R"([{"op": "batch", "from": "people", "rows": 3,
                        "drop_rest": true},
                       {"op": "unbatch", "as": "out"}])"),
              ElementsAre("ann 31 oslo", "bob 17 rome", "cat 45 oslo"));
}

TEST_F(more_nodes, cache_and_prefetch_change_no_row) {
  EXPECT_THAT(rows(R"([{"op": "cache", "from": "people", "as": "kept"},
                       {"op": "prefetch", "from": "kept", "as": "ahead"},
                       {"op": "limit", "from": "kept", "rows": 1, "as": "one"},
                       {"op": "concat", "from": ["one", "ahead", "kept"]},
                       {"op": "prefetch", "batches": 1},
                       {"op": "select", "columns": "name", "as": "out"}])"),
              ElementsAre("ann", "ann", "bob", "cat", "dan", "ann", "bob",
                          "cat", "dan"));
}

TEST_F(more_nodes, a_mistake_behind_a_prefetch_names_its_row) {
  const job what = with(R"([{"op": "prefetch", "from": "people"},
                            {"op": "cast", "columns": {"name": "int64"}},
                            {"op": "prefetch", "as": "out"}])");
  EXPECT_THAT(refusal_of([&] { rows_of(what); }),
              HasSubstr("people.csv: row 1"));
}

TEST_F(more_nodes, list_files_has_a_row_for_each_file) {
  write("b.txt", "four");
  write("a.txt", "");
  const job what = with_source(R"([{"op": "filter", "from": "people",
                                    "where": "bytes > 0", "as": "out"}])",
                               source_format::list_files, "*.txt");
  EXPECT_THAT(rows_of(what, "out", {1}), ElementsAre("4"));
  EXPECT_THAT(rows_of(what, "people", {1, 1}), ElementsAre("0 0", "4 4"));
  graph_stream rows(what.data, "people", {.seed = 1});
  EXPECT_THAT(data::rows_of(rows)[1],
              (folder_ / "b.txt").string() + " 4 281474976710657");
}

TEST_F(more_nodes, an_operator_of_the_users_is_called) {
  const std::string nodes =
      R"([{"op": "cast", "from": "people", "columns": {"age": "int64"}},
          {"op": "rename", "columns": {"age": "x"}},
          {"op": "filter", "where": "x is not null"},
          {"op": "map", "library": ")" +
      user_operators() + R"(", "function": "twice", "columns": "x"},
          {"op": "select", "columns": ["name", "y"], "as": "out"}])";
  EXPECT_THAT(rows(nodes), ElementsAre("ann 62", "bob 34", "cat 90"));
}

TEST_F(more_nodes, a_library_is_known_by_its_content_and_not_by_its_name) {
  const job what = with(R"([{"op": "map", "from": "people", "library":
                             "/lib/libmine.so", "function": "f", "options":
                             {"a": [1, true]}},
                            {"op": "prefetch", "batches": 7, "as": "out"}])");
  const std::string nodes = nodes_of(what, "out").dump();
  EXPECT_THAT(nodes, HasSubstr(R"("options":{"a":[1,true]})"));
  EXPECT_THAT(nodes, testing::Not(HasSubstr("libmine")));
  EXPECT_THAT(nodes, testing::Not(HasSubstr("batches")));
  const auto libraries = graph_libraries(what.data, "out");
  ASSERT_EQ(libraries.size(), 1U);
  EXPECT_EQ(libraries[0].path, "/lib/libmine.so");
  EXPECT_EQ(libraries[0].pointer, "/data/graph/0");
  EXPECT_TRUE(graph_libraries(what.data, "people").empty());
}

TEST_F(more_nodes, mistakes_name_the_field_and_the_nearest_column) {
  EXPECT_EQ(refusal(R"([{"op": "flat_map", "from": "people",
                         "columns": "citty", "as": "out"}])"),
            "/data/graph/0/columns: there is no column 'citty'; did you mean "
            "'city'?");
  EXPECT_EQ(refusal(R"([{"op": "flat_map", "from": "people",
                         "columns": "city", "as": "out"}])"),
            "/data/graph/0/columns: column 'city' has the type string; "
            "expected lists");
  EXPECT_EQ(refusal(R"([{"op": "unbatch", "from": "people", "as": "out"}])"),
            "/data/graph/0: none of the columns of 'out' holds lists; expected "
            "what `batch` gives");
}

} // namespace
} // namespace ballast::data
