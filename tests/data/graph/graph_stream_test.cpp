// Goal: a graph gives the rows that its nodes say, in one order, whoever reads
// it and how often; what is wrong with it is said before a row is read.
// Method: jobs as users write them, over small files; the rows as text.
#include "data/graph/graph_stream.hpp"

#include "data/graph/graph_sources.hpp"
#include "data/operators/operator_context.hpp"
#include "tests/data/graph/graph_rows.hpp"

namespace ballast::data {
namespace {

using testing::ElementsAre;
namespace fs = std::filesystem;

TEST_F(graph_rows, filter_takes_those_of_which_the_condition_is_true) {
  EXPECT_THAT(rows(R"([{"op": "filter", "from": "people",
                        "where": "age > 18", "as": "out"}])"),
              ElementsAre("ann 31 oslo", "cat 45 oslo"));
}

TEST_F(graph_rows, columns_are_selected_dropped_renamed_cast_and_derived) {
  EXPECT_THAT(rows(R"j([{"op": "filter", "from": "people",
                        "where": "age is not null"},
                       {"op": "cast", "columns": {"age": "int64"}},
                       {"op": "derive", "columns": {"next": "age + 1",
                                                    "city": "upper(city)"
}
},
                       {"op": "rename", "columns": {"name": "who"}},
                       {"op": "drop", "columns": "age"},
                       {"op": "select", "columns": ["next", "city", "who"],
                        "as": "out"}])j"),
              ElementsAre("32 OSLO ann", "18 ROME bob", "46 OSLO cat"));
}

TEST_F(graph_rows, only_the_wanted_columns_come) {
  const job what = with(R"([{"op": "derive", "from": "people",
                             "columns": {"twice": "age * 2"}, "as": "out"}])");
  EXPECT_THAT(rows_of(what, "out", {3, 0}),
              ElementsAre("62 ann", "34 bob", "90 cat", "null dan"));
  EXPECT_THAT(rows_of(what, "out", {2, 2}),
              ElementsAre("oslo oslo", "rome rome", "oslo oslo", "rome rome"));
}

TEST_F(graph_rows, limit_skips_and_repeat_begins_again) {
  EXPECT_THAT(rows(R"([{"op": "limit", "from": "people", "rows": 2, "skip": 1},
                       {"op": "repeat", "times": 2},
                       {"op": "select", "columns": "name", "as": "out"}])"),
              ElementsAre("bob", "cat", "bob", "cat"));
}

TEST_F(graph_rows, nothing_repeated_is_nothing_at_once) {
  EXPECT_THAT(rows(R"([{"op": "filter", "from": "people", "where": "age > 99"},
                       {"op": "repeat", "times": 1000000, "as": "out"}])"),
              testing::IsEmpty());
}

TEST_F(graph_rows, concat_goes_by_the_names_of_columns) {
  EXPECT_THAT(rows(R"([{"op": "concat", "from": ["people", "more"],
                        "as": "out"}])"),
              ElementsAre("ann 31 oslo", "bob 17 rome", "cat 45 oslo",
                          "dan null rome", "eve 22.5 bonn"));
}

TEST_F(graph_rows, concat_refuses_columns_that_one_lacks) {
  EXPECT_EQ(refusal(R"([{"op": "drop", "from": "more", "columns": "age",
                         "as": "b"},
                        {"op": "concat", "from": ["people", "b"],
                         "as": "out"}])"),
            "/data/graph/1/from: 'b' has no column 'age', 'people' has it; "
            "select those that both have");
}

TEST_F(graph_rows, zip_puts_rows_side_by_side) {
  write("more.csv", "x\n1\n2\n3\n4\n");
  EXPECT_THAT(rows(R"([{"op": "zip", "from": ["people", "more"]},
                       {"op": "select", "columns": ["x", "name"],
                        "as": "out"}])"),
              ElementsAre("1 ann", "2 bob", "3 cat", "4 dan"));
}

TEST_F(graph_rows, zip_refuses_more_rows_on_one_side) {
  write("more.csv", "x\n1\n2\n3\n");
  const job what = with(R"([{"op": "zip", "from": ["people", "more"],
                             "as": "out"}])");
  EXPECT_EQ(refusal_of([&] { rows_of(what); }),
            "/data/graph/0/from: 'more' ends after 3 rows, 'people' has more; "
            "expected equally many");
}

TEST_F(graph_rows, mix_takes_rows_in_proportion) {
  write("people.csv", "x\n1\n2\n3\n4\n5\n6\n7\n");
  write("more.csv", "x\n-1\n-2\n");
  EXPECT_THAT(rows(R"([{"op": "mix", "from": ["people", "more"],
                        "weights": [3, 1], "as": "out"}])"),
              ElementsAre("1", "2", "-1", "3", "4", "5", "-2", "6", "7"));
}

TEST_F(graph_rows, a_split_gives_every_row_to_one_part_the_same_each_time) {
  std::string text = "x,kind\n";
  for (int i = 0; i < 1000; ++i)
    text += std::to_string(i) + (i % 10 == 0 ? ",rare\n" : ",often\n");
  write("people.csv", text);
  for (const std::string by :
       {R"("random")", R"("stratified", "column": "kind")"}) {
    const job what = with(R"([{"op": "split", "from": "people", "by": )" + by +
                              R"(, "fractions": [0.7, 0.2, 0.1],
                                 "as": ["a", "b", "c"]}])",
                          "a");
    std::vector<std::string> all;
    size_t rare = 0;
    for (const auto& [part, size] :
         {std::pair("a", 700u), {"b", 200u}, {"c", 100u}}) {
      const auto found = rows_of(what, part);
      EXPECT_EQ(found.size(), size) << by;
      EXPECT_EQ(found, rows_of(what, part));
      all.insert(all.end(), found.begin(), found.end());
      if (*part == 'b')
        rare = size_t(std::count_if(found.begin(), found.end(), [](auto& row) {
          return row.find("rare") != std::string::npos;
        }));
    }
    if (by != R"("random")") {
      EXPECT_EQ(rare, 20u);
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
    EXPECT_EQ(all.size(), 1000u);
    job other = what;
    other.seed = 2;
    EXPECT_NE(rows_of(what, "c"), rows_of(other, "c"));
  }
}

TEST_F(graph_rows, a_split_by_group_keeps_a_group_together) {
  std::string text = "x,who\n";
  for (int i = 0; i < 2000; ++i)
    text += std::to_string(i) + ",p" + std::to_string(i % 200) + "\n";
  write("people.csv", text);
  const job what = with(R"([{"op": "split", "from": "people", "by": "group",
                             "column": "who", "fractions": [0.5, 0.5],
                             "as": ["a", "b"]}])",
                        "a");
  const auto a = rows_of(what, "a", {1});
  const auto b = rows_of(what, "b", {1});
  EXPECT_EQ(a.size() + b.size(), 2000u);
  EXPECT_GT(a.size(), 700u);
  EXPECT_GT(b.size(), 700u);
  const std::set<std::string> in_a(a.begin(), a.end());
  for (const std::string& who : b)
    EXPECT_EQ(in_a.count(who), 0u) << who;
}

TEST_F(graph_rows, a_split_by_time_puts_the_latest_into_the_last_part) {
  write("people.csv", "x,at\n1,2026-03-01\n2,2026-01-01\n3,2026-02-01\n"
                      "4,2025-01-01\n5,2026-03-01\n");
  const job what = with(R"([{"op": "cast", "from": "people",
                             "columns": {"at": "date"}},
                            {"op": "split", "by": "time", "column": "at",
                             "fractions": [0.6, 0.4], "as": ["a", "b"]}])",
                        "a");
  EXPECT_THAT(rows_of(what, "a", {0}), ElementsAre("2", "3", "4"));
  EXPECT_THAT(rows_of(what, "b", {0}), ElementsAre("1", "5"));
}

TEST_F(graph_rows, sort_distinct_and_join_need_all_rows) {
  write("more.csv", "city,country\noslo,no\nrome,it\nbonn,de\n");
  EXPECT_THAT(rows(R"([{"op": "sort", "from": "people", "by": ["city", "age"],
                        "descending": "age"},
                       {"op": "select", "columns": ["name", "age"],
                        "as": "out"}])"),
              ElementsAre("cat 45", "ann 31", "bob 17", "dan null"));
  EXPECT_THAT(rows(R"([{"op": "distinct", "from": "people", "on": "city"},
                       {"op": "select", "columns": "name", "as": "out"}])"),
              ElementsAre("ann", "bob"));
  EXPECT_THAT(rows(R"([{"op": "join", "from": ["people", "more"], "on": "city",
                        "kind": "right"},
                       {"op": "select", "columns": ["name", "country"],
                        "as": "out"}])"),
              ElementsAre("ann no", "bob it", "cat no", "dan it", "null de"));
}

TEST_F(graph_rows,
       a_join_takes_whole_numbers_of_one_side_for_those_of_another) {
  write("people.csv", "id,x\n1,a\n2,b\n");
  write("more.csv", "id,y\n2,c\n1,d\n");
  EXPECT_THAT(rows(R"([{"op": "cast", "from": "more",
                        "columns": {"id": "int64"}, "as": "whole"},
                       {"op": "join", "from": ["people", "whole"], "on": "id"},
                       {"op": "select", "columns": ["x", "y"], "as": "out"}])"),
              ElementsAre("a d", "b c"));
}

TEST_F(graph_rows, a_shuffle_is_the_same_for_the_same_seed) {
  std::string text = "x\n";
  for (int i = 0; i < 100; ++i)
    text += std::to_string(i) + "\n";
  write("people.csv", text);
  job what = with(R"([{"op": "shuffle", "from": "people", "as": "out"}])");
  const auto once = rows_of(what);
  EXPECT_EQ(rows_of(what), once);
  EXPECT_NE(once[0] + once[1] + once[2], "012");
  what.seed = 2;
  EXPECT_NE(rows_of(what), once);
}

TEST_F(graph_rows, a_row_is_named_by_its_file_wherever_it_has_been) {
  const job what = with(R"([{"op": "filter", "from": "people",
                             "where": "city = 'oslo'", "as": "some"},
                            {"op": "concat", "from": ["more", "some"]},
                            {"op": "derive", "columns": {"z": "age * 2"},
                             "as": "out"}])");
  graph_stream stream(what.data, "out", {.seed = 1});
  std::vector<std::string> places;
  while (const auto batch = stream.next())
    for (int64_t row = 0; row < batch->num_rows(); ++row)
      places.push_back(stream.place_of(row));
  const std::string folder = folder_.string();
  EXPECT_THAT(places, ElementsAre(folder + "/more.csv: row 1",
                                  folder + "/people.csv: row 1",
                                  folder + "/people.csv: row 3"));
}

TEST_F(graph_rows, what_a_row_lacks_is_said_with_its_place) {
  write("people.csv", "name,age\nann,x1\nbob,12\n");
  const job what = with(R"([{"op": "cast", "from": "people",
                             "columns": {"age": "int64"}, "as": "out"}])");
  EXPECT_THAT(refusal_of([&] { rows_of(what); }),
              has_all({"people.csv: row 1", "age", "x1"}));
}

TEST_F(graph_rows, a_mistake_names_the_nearest_column_and_its_field) {
  EXPECT_EQ(refusal(R"([{"op": "select", "from": "people",
                         "columns": ["name", "agee"], "as": "out"}])"),
            "/data/graph/0/columns: there is no column 'agee'; did you mean "
            "'age'?");
  EXPECT_EQ(refusal(R"([{"op": "rename", "from": "people",
                         "columns": {"x": "y"}, "as": "out"}])"),
            "/data/graph/0/columns/x: there is no column 'x'; the columns are "
            "'name', 'age', 'city'");
  EXPECT_EQ(refusal(R"([{"op": "rename", "from": "people",
                         "columns": {"age": "city"}, "as": "out"}])",
                    errc::invalid_job),
            "/data/graph/0/columns: two columns would be 'city'; expected a "
            "name of its own for each");
  const job what = with(R"([{"op": "derive", "from": "people",
                             "columns": {"z": "age +"}, "as": "out"}])");
  try {
    rows_of(what);
    ADD_FAILURE() << "was taken";
  } catch (const ballast_error& error) {
    EXPECT_EQ(error.what_failed().pointer, "/data/graph/0/columns/z");
    EXPECT_THAT(error.what(),
                has_all({"/data/graph/0/columns/z: column 6: expected a "
                         "column, a value or \"(\", found the end"}));
  }
  EXPECT_THAT(refusal(R"([{"op": "filter", "from": "people",
                           "where": "agee > 1", "as": "out"}])"),
              has_all({"/data/graph/0/where: ", "age"}));
}

TEST_F(graph_rows, several_files_of_a_source_are_one_table) {
  fs::remove(folder_ / "people.csv");
  write("people-1.csv", "name,age\nann,31\n");
  write("people-2.csv", "age,name,other\n32,bob,1\n");
  job what = with(R"([{"op": "limit", "from": "people", "rows": 9,
                       "as": "out"}])");
  what.data.sources["people"].uri = (folder_ / "people-*.csv").string();
  EXPECT_THAT(rows_of(what), ElementsAre("ann 31", "bob 32"));
  write("people-3.csv", "name\ncat\n");
  EXPECT_THAT(refusal_of([&] { rows_of(what); }),
              has_all({"people-3.csv: has no column 'age', the first file",
                       "people-1.csv, has it"}));
}

TEST_F(graph_rows, know_what_they_hang_on) {
  const job what = with(R"([{"op": "limit", "from": "more", "rows": 1,
                             "as": "one"},
                            {"op": "limit", "from": "people", "rows": 1,
                             "as": "out"}])");
  EXPECT_THAT(graph_sources(what.data, "out"), ElementsAre("people"));
  EXPECT_EQ(nodes_of(what, "out")["nodes"].size(), 1u);
  EXPECT_FALSE(is_seeded(what.data, "out"));
}

} // namespace
} // namespace ballast::data
