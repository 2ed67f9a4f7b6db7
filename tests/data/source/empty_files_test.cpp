// Goal: one file without rows among others that have some does not refuse a
// job, and its user is told; only where none has a row nothing can be read.
// Method: a glob over files that are empty, or have nothing but a header.
#include "data/graph/graph_stream.hpp"
#include "data/source/source_table.hpp"
#include "data/source/table_survey.hpp"
#include "tests/data/source/table_files.hpp"

#include <gmock/gmock.h>

namespace ballast::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class empty_files : public ::testing::Test {
protected:
  source_spec all(source_format format) const {
    return table_source(
        format, (folder_ / ("p*." + to_string(format))).string(), "y", {"a"});
  }
  std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }

  temporary_folder folder_;
};

TEST_F(empty_files, among_csv_files_are_passed_over_and_told) {
  folder_.write("p1.csv", "a,y\n");
  folder_.write("p2.csv", "a,y\n1,0\n2,1\n");
  folder_.write("p3.csv", "");
  folder_.write("p4.csv", "a,y\n3,1\n");
  const source_table table = read_source(all(source_format::csv), {});
  EXPECT_THAT(table.labels, ElementsAre(0, 1, 1));
  EXPECT_THAT(table.columns, ElementsAre("a"));
  EXPECT_EQ(place_of(table, 0), path("p2.csv") + ": row 1");
  EXPECT_EQ(place_of(table, 2), path("p4.csv") + ": row 1");
  EXPECT_THAT(table.notes, ElementsAre("2 files have no rows, the first is " +
                                       path("p1.csv")));
}

TEST_F(empty_files, among_files_of_json_lines_are_passed_over_and_told) {
  folder_.write("p1.jsonl", "\n");
  folder_.write("p2.jsonl", "{\"a\":1,\"y\":0}\n{\"a\":2,\"y\":1}\n");
  const source_table table = read_source(all(source_format::jsonl), {});
  EXPECT_THAT(table.labels, ElementsAre(0, 1));
  EXPECT_THAT(table.notes, ElementsAre(path("p1.jsonl") + ": has no rows"));
}

TEST_F(empty_files, are_refused_where_no_file_has_a_row) {
  folder_.write("p1.csv", "a,y\n");
  folder_.write("p2.csv", "a,y\n");
  EXPECT_THAT(
      refusal_of([&] { read_source(all(source_format::csv), {}); }),
      HasSubstr("p2.csv: has no rows after its header; the data set is empty"));
  EXPECT_THAT(refusal_of([&] { survey(all(source_format::csv), {}); }),
              HasSubstr("has no rows after its header"));
}

/// A disk that is not mounted would silently take its rows with it.
TEST_F(empty_files, are_not_what_a_link_that_leads_nowhere_is) {
  folder_.write("p1.csv", "a,y\n1,0\n2,1\n");
  std::filesystem::create_directory(folder_ / "p2.csv"); // is no file
  EXPECT_EQ(read_source(all(source_format::csv), {}).labels.size(), 2u);
  std::filesystem::create_symlink("/nowhere/p3.csv", folder_ / "p3.csv");
  EXPECT_THAT(
      refusal_of([&] { read_source(all(source_format::csv), {}); }),
      HasSubstr("p3.csv: is a link that leads nowhere; mend or remove"));
}

TEST_F(empty_files, are_passed_over_in_a_graph_and_in_a_survey) {
  folder_.write("p1.csv", "a,y\n");
  folder_.write("p2.csv", "a,y\n1,0\n2,1\n");
  folder_.write("p3.csv", "a,y\n");
  data_spec data;
  data.sources["in"] = all(source_format::csv);
  data.sources["in"].label.clear();
  data.sources["in"].features.clear();
  graph_stream rows(data, "in", {});
  rows.choose({0, 1});
  EXPECT_THAT(rows_of(rows), ElementsAre("1 0", "2 1"));
  EXPECT_THAT(
      rows.origins().notes(),
      ElementsAre("2 files have no rows, the first is " + path("p1.csv")));
  const table_survey found = survey(all(source_format::csv), {});
  EXPECT_EQ(found.rows, 2u);
  EXPECT_TRUE(found.clean());
}

/// Its columns count for nothing, wherever it stands.
TEST_F(empty_files, with_types_are_passed_over_and_told) {
  const auto own = arrow::schema(
      {arrow::field("z", arrow::float64()), arrow::field("y", arrow::utf8())});
  const auto with_rows = arrow::schema(
      {arrow::field("a", arrow::float64()), arrow::field("y", arrow::int64())});
  for (source_format format :
       {source_format::parquet, source_format::arrow, source_format::orc}) {
    const std::string kind = "." + to_string(format);
    write_rows(path("p1" + kind), own, "[]");
    write_rows(path("p2" + kind), with_rows,
               R"([{"a":1,"y":0},{"a":2,"y":1}])");
    write_rows(path("p3" + kind), own, "[]");
    source_spec source = all(format);
    source.features.clear();
    const source_table table = read_source(source, {});
    EXPECT_THAT(table.columns, ElementsAre("a"));
    EXPECT_THAT(table.notes, ElementsAre("2 files have no rows, the first is " +
                                         path("p1" + kind)));
    EXPECT_TRUE(survey(source, {}).clean());
    data_spec data;
    data.sources["in"] = source;
    data.sources["in"].label.clear();
    graph_stream rows(data, "in", {});
    rows.choose({0, 1});
    EXPECT_THAT(rows_of(rows), ElementsAre("1 0", "2 1"));
  }
}

TEST_F(empty_files, with_types_still_have_columns_where_all_are_empty) {
  const auto columns = arrow::schema({arrow::field("a", arrow::float64())});
  write_rows(path("p1.parquet"), columns, "[]");
  write_rows(path("p2.parquet"), columns, "[]");
  data_spec data;
  data.sources["in"] = all(source_format::parquet);
  graph_stream rows(data, "in", {});
  EXPECT_EQ(rows.schema()->field(0)->name(), "a");
  rows.choose({0});
  EXPECT_THAT(rows_of(rows), ElementsAre());
  source_spec source = all(source_format::parquet);
  source.label = "a";
  source.features.clear();
  EXPECT_THAT(refusal_of([&] { read_source(source, {}); }),
              HasSubstr("has no "));
}

} // namespace
} // namespace ballast::data
