// Goal: sources hand out one type of text, and plain values, whatever a file
// stores, so that no function of Arrow's meets one that it lacks. Method: small
// files with types of Arrow's that are seldom met.
#include "data/graph/graph_stream.hpp"
#include "data/source/row_faults.hpp"
#include "data/source/source_table.hpp"
#include "tests/data/source/table_files.hpp"

namespace ballast::data {
namespace {

using ::testing::ElementsAre;

class plain_values : public ::testing::Test {
protected:
  /// Two rows of each, whose label is the text.
  source_spec with_text(source_format format,
                        const std::shared_ptr<arrow::DataType>& type) const {
    const std::string path = (folder_ / ("t." + to_string(format))).string();
    write_rows(path,
               arrow::schema({arrow::field("a", arrow::float64()),
                              arrow::field("y", type)}),
               R"([{"a":1,"y":"x"},{"a":2,"y":"z"},
                   {"a":3,"y":"a text of more than twelve bytes"}])");
    return table_source(format, path, "y");
  }
  static std::vector<std::shared_ptr<arrow::DataType>> types_of_text() {
    return {arrow::utf8(), arrow::large_utf8(), arrow::utf8_view(),
            arrow::dictionary(arrow::int32(), arrow::utf8())};
  }

  temporary_folder folder_;
};

TEST_F(plain_values, meet_a_condition_whatever_type_of_text_they_were) {
  for (source_format format : {source_format::parquet, source_format::arrow})
    for (const auto& type : types_of_text())
      for (bool skip : {false, true}) {
        SCOPED_TRACE(to_string(format) + " " + type->ToString());
        row_faults faults;
        source_request request;
        request.faults = skip ? &faults : nullptr;
        source_spec source = with_text(format, type);
        source.where = "y <> 'z'";
        const source_table table = read_source(source, request);
        EXPECT_THAT(table.class_names,
                    ElementsAre("a text of more than twelve bytes", "x"));
        EXPECT_THAT(table.taken_rows, ElementsAre(0, 2));
      }
}

TEST_F(plain_values, are_one_type_of_text_in_a_graph) {
  for (source_format format : {source_format::parquet, source_format::arrow})
    for (const auto& type : types_of_text()) {
      data_spec data;
      data.sources["in"] = with_text(format, type);
      data.sources["in"].label.clear();
      graph_stream rows(data, "in", {});
      EXPECT_EQ(rows.schema()->field(1)->type()->ToString(), "string");
    }
}

TEST_F(plain_values, are_found_inside_of_lists) {
  const std::string path = (folder_ / "t.arrow").string();
  write_rows(path,
             arrow::schema({arrow::field("l", arrow::list(arrow::utf8_view())),
                            arrow::field("b", arrow::large_binary())}),
             R"([{"l":["x","z"],"b":"p"},{"l":null,"b":null}])");
  data_spec data;
  data.sources["in"] = table_source(source_format::arrow, path, "");
  graph_stream rows(data, "in", {});
  EXPECT_EQ(rows.schema()->field(0)->type()->ToString(), "list<item: string>");
  EXPECT_EQ(rows.schema()->field(1)->type()->ToString(), "binary");
  rows.choose({0});
  EXPECT_EQ(rows_of(rows).size(), 2u);
}

} // namespace
} // namespace ballast::data
