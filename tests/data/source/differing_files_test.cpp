// Goal: files of one source that differ are refused with both names, or read
// alike whichever comes first. Method: two small files, in every format, in
// both orders.
#include "data/graph/graph_stream.hpp"
#include "data/source/row_faults.hpp"
#include "data/source/source_table.hpp"
#include "data/source/table_survey.hpp"
#include "tests/data/source/table_files.hpp"

namespace ballast::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class differing_files : public ::testing::Test {
protected:
  static std::shared_ptr<arrow::Schema>
  with_label(const std::shared_ptr<arrow::DataType>& label) {
    return arrow::schema(
        {arrow::field("a", arrow::float64()), arrow::field("y", label)});
  }
  std::string path(int number, source_format format) const {
    return (folder_ / ("p" + std::to_string(number) + "." + to_string(format)))
        .string();
  }
  void write(int number, source_format format,
             const std::shared_ptr<arrow::Schema>& schema,
             const std::string& rows) const {
    write_rows(path(number, format), schema, rows);
  }
  source_spec all(source_format format) const {
    return table_source(format,
                        (folder_ / ("p*." + to_string(format))).string(), "y");
  }

  temporary_folder folder_;
};

TEST_F(differing_files, with_text_and_numbers_as_labels_are_refused) {
  const std::string texts = R"([{"a":1,"y":"x"},{"a":2,"y":"z"}])";
  const std::string numbers = R"([{"a":1,"y":0},{"a":2,"y":1}])";
  for (source_format format : table_file_formats)
    for (bool text_first : {true, false}) {
      write(text_first ? 1 : 2, format, with_label(arrow::utf8()), texts);
      write(text_first ? 2 : 1, format, with_label(arrow::int64()), numbers);
      EXPECT_THAT(refusal_of([&] { read_source(all(format), {}); }),
                  has_all({path(1, format), path(2, format), "'y'"}))
          << to_string(format) << (text_first ? " begins" : " goes on")
          << " with text";
    }
}

TEST_F(differing_files, with_text_and_numbers_as_labels_are_classes_of_text) {
  for (source_format format : {source_format::csv, source_format::jsonl})
    for (bool text_first : {true, false}) {
      write(text_first ? 1 : 2, format, with_label(arrow::utf8()),
            R"([{"a":1,"y":"x"},{"a":2,"y":"z"}])");
      write(text_first ? 2 : 1, format, with_label(arrow::int64()),
            R"([{"a":1,"y":0},{"a":2,"y":1}])");
      source_spec source = all(format);
      source.columns = {{"y", "text"}};
      EXPECT_THAT(read_source(source, {}).class_names,
                  ElementsAre("0", "1", "x", "z"));
    }
}

TEST_F(differing_files, lose_labels_that_are_numbers_among_text_where_told_to) {
  folder_.write("p1.csv", "a,y\n1,x\n2,z\n3,7\n");
  folder_.write("p2.csv", "a,y\n4,1e3\n5,x\n");
  row_faults faults;
  source_request request;
  request.faults = &faults;
  const source_table table = read_source(all(source_format::csv), request);
  EXPECT_THAT(table.class_names, ElementsAre("x", "z"));
  EXPECT_EQ(faults.counts().rows, 2u);
  EXPECT_THAT(faults.found().last,
              has_all({"p2.csv: row 1", "the label is a number"}));
}

TEST_F(differing_files, with_text_and_numbers_as_labels_are_no_clean_survey) {
  folder_.write("p1.csv", "a,y\n1,x\n2,z\n");
  folder_.write("p2.csv", "a,y\n4,1\n5,0\n");
  const source_spec source = all(source_format::csv);
  const table_survey found = survey(source, {});
  EXPECT_THAT(found.columns.at(1).problems,
              ElementsAre(has_all({"2 cells with numbers", "p2.csv: row 1"})));
  EXPECT_EQ(fix_of(source, found).dump(), R"({"columns":{"y":"text"}})");
}

/// All columns of one of them are text, by the cells that are there.
TEST_F(differing_files, meet_a_condition_by_the_types_of_those_before) {
  folder_.write("p1.csv", "a,city,y\n1,,0\n2,,1\n");
  folder_.write("p2.csv", "a,city,y\n3,rome,0\n4,oslo,1\n");
  folder_.write("p3.csv", "a,city,y\n5,7,0\n6,rome,1\n");
  folder_.write("p4.csv", "a,city,y\n7,,1\n8,,1\n");
  source_spec source = all(source_format::csv);
  source.features = {"a"};
  source.where = "city in ('rome', '7')";
  EXPECT_THAT(read_source(source, {}).taken_rows, ElementsAre(2, 4, 5));
  EXPECT_EQ(survey(source, {}).rows, 3u);
  source.where = "city is null and a < 8";
  EXPECT_THAT(read_source(source, {}).taken_rows, ElementsAre(0, 1, 6));
  // Chosen by content, it is no column of numbers then.
  source.features.clear();
  source.where = "coalesce(city, '') <> 'rome' and a < 5";
  EXPECT_THAT(read_source(source, {}).columns, ElementsAre("a"));
}

TEST_F(differing_files, of_which_one_does_not_fit_a_condition_are_named) {
  folder_.write("p1.csv", "a,y\n1,0\n2,1\n");
  folder_.write("p2.csv", "b,y\n1,0\n2,1\n");
  source_spec source = all(source_format::csv);
  source.where = "a > 0";
  source.features = {"y"};
  EXPECT_THAT(refusal_of([&] { read_source(source, {}); }),
              has_all({"/data/train/where (" + path(2, source_format::csv) +
                       "): column 1: the data have no column 'a'"}));
}

TEST_F(differing_files, of_which_one_lacks_a_feature_are_no_clean_survey) {
  const auto all_columns = arrow::schema({arrow::field("a", arrow::float64()),
                                          arrow::field("b", arrow::float64()),
                                          arrow::field("y", arrow::int64())});
  for (source_format format : table_file_formats) {
    write(1, format, all_columns,
          R"([{"a":1,"b":1,"y":0},{"a":2,"b":2,"y":1}])");
    write(2, format, with_label(arrow::int64()), R"([{"a":1,"y":0}])");
    const table_survey found = survey(all(format), {});
    EXPECT_THAT(found.columns.at(1).problems,
                ElementsAre("is not in " + path(2, format)));
  }
}

TEST_F(differing_files, of_which_a_later_one_has_more_are_a_clean_survey) {
  folder_.write("p1.csv", "a,y\n1,0\n2,1\n");
  folder_.write("p2.csv", "a,b,y\n1,2,0\n");
  const table_survey found = survey(all(source_format::csv), {});
  EXPECT_TRUE(found.clean());
  EXPECT_EQ(found.columns.at(2).use, column_use::left_out);
}

TEST_F(differing_files, may_have_nothing_where_others_have_text_in_a_graph) {
  const auto with = [](const std::shared_ptr<arrow::DataType>& type) {
    return arrow::schema(
        {arrow::field("y", arrow::int64()), arrow::field("t", type)});
  };
  for (source_format format : {source_format::parquet, source_format::arrow})
    for (bool nothing_first : {true, false}) {
      write(nothing_first ? 1 : 2, format, with(arrow::null()),
            R"([{"y":0,"t":null}])");
      write(nothing_first ? 2 : 1, format, with(arrow::utf8()),
            R"([{"y":1,"t":"x"}])");
      data_spec data;
      data.sources["in"] = all(format);
      data.sources["in"].label.clear();
      graph_stream rows(data, "in", {});
      rows.choose({0, 1});
      const std::vector<std::string> found = rows_of(rows);
      EXPECT_THAT(found, nothing_first ? ElementsAre("0 null", "1 x")
                                       : ElementsAre("1 x", "0 null"));
    }
}

/// The other way round they are bad rows, too.
TEST_F(differing_files, may_begin_with_a_mebibyte_of_bad_rows) {
  const auto rows = [](int count, const std::string& row) {
    std::string out;
    for (int i = 0; i < count; ++i)
      out += row + "\n";
    return out;
  };
  const std::string good = "{\"a\":1,\"y\":0}\n{\"a\":2.5,\"y\":1}\n";
  const std::string long_text(100, 'x');
  for (const std::string& bad :
       {"{\"a\":\"" + long_text + "\",\"y\":1}", "[\"" + long_text + "\"]",
        "{\"a\":\"" + long_text + "\",\"y\":\"no\"}"}) {
    folder_.write("p1.jsonl", good);
    folder_.write("p2.jsonl", rows(12000, bad) + good);
    row_faults faults;
    source_request request;
    request.faults = &faults;
    const source_table table = read_source(all(source_format::jsonl), request);
    EXPECT_THAT(table.labels, ElementsAre(0, 1, 0, 1)) << bad;
    EXPECT_EQ(faults.counts().rows, 12000u);
    faults = row_faults(0.1);
    EXPECT_THAT(
        refusal_of([&] { read_source(all(source_format::jsonl), request); }),
        has_all({"/data/errors_max: 12000 of the 12004 rows"}));
  }
}

TEST_F(differing_files, may_have_no_row_but_bad_ones) {
  folder_.write("p1.jsonl", "{\"a\":1,\"y\":0}\n{\"a\":2,\"y\":1}\n");
  folder_.write("p2.jsonl", "{\"a\":1,\n\"y\":0}\n");
  row_faults faults;
  source_request request;
  request.faults = &faults;
  const source_table table = read_source(all(source_format::jsonl), request);
  EXPECT_THAT(table.labels, ElementsAre(0, 1));
  EXPECT_EQ(faults.counts().rows, 2u);
}

} // namespace
} // namespace ballast::data
