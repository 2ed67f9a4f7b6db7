/// Goal: where the job says so, exactly the rows that something is wrong with
/// are left out, each is told with its place, its reason and its values, and
/// the others come as they would alone. Method: small files of each format
/// with one mistake of each kind.
#include "data/source/row_faults.hpp"

#include "data/source/csv_stream.hpp"
#include "data/source/stream_table.hpp"
#include "runtime/base/errors.hpp"
#include "tests/data/source_builders.hpp"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <parquet/arrow/writer.h>
#include <sstream>

namespace ballast::data {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What is told of the rows that were left out.
std::vector<json> told_by(const row_faults& faults) {
  std::vector<json> out;
  std::istringstream in(faults.found().lines);
  for (std::string line; std::getline(in, line);)
    out.push_back(json::parse(line));
  return out;
}

/// "4: why" of each.
std::vector<std::string> reasons_of(const row_faults& faults) {
  std::vector<std::string> out;
  for (const json& one : told_by(faults))
    out.push_back(std::to_string(one["row"].get<int>()) + " " +
                  one.value("column", "-") + ": " +
                  one["reason"].get<std::string>());
  return out;
}

class left_out_rows : public ::testing::Test {
protected:
  source_table read(source_format format, const std::string& name,
                    source_request request = {}) {
    source_spec source =
        table_source(format, (folder_ / name).string(), "y", features_);
    source.where = where_;
    source.columns = columns_;
    request.faults = &faults_;
    return read_source(source, request);
  }
  source_table read_csv(const std::string& text, source_request request = {}) {
    folder_.write("t.csv", text);
    return read(source_format::csv, "t.csv", request);
  }
  std::string refusal_of_csv(const std::string& text) {
    try {
      read_csv(text);
    } catch (const ballast_error& error) {
      return error.what();
    }
    return "nothing";
  }

  temporary_folder folder_;
  std::vector<std::string> features_;
  std::map<std::string, std::string> columns_;
  std::string where_;
  row_faults faults_;
};

TEST_F(left_out_rows, are_those_of_a_csv_file_with_text_in_a_number_column) {
  const source_table table =
      read_csv("a,b,y\n1,2,0\n1,x,1\n3,4,1\n-,5,0\n5,6,0\n");
  EXPECT_EQ(table.rows, 3u);
  EXPECT_THAT(table.labels, ElementsAre(0, 1, 0));
  EXPECT_THAT(table.taken_rows, ElementsAre(0, 2, 4));
  EXPECT_THAT(reasons_of(faults_),
              ElementsAre("2 b: expected a number, found text of 1 character",
                          "4 a: expected a number, found text of 1 character"));
  const json first = told_by(faults_)[0];
  EXPECT_EQ(first["source"], "train");
  EXPECT_EQ(first["file"], (folder_ / "t.csv").string());
  EXPECT_EQ(first["line"], 3);
  EXPECT_EQ(first["operator"], "read");
  EXPECT_EQ(first["values"], json({{"a", "1"}, {"b", "x"}, {"y", "1"}}));
  EXPECT_EQ(faults_.counts(), (ledger::rejected_rows{5, 2, 2}));
}

TEST_F(left_out_rows, do_not_decide_what_a_column_is_though_they_come_first) {
  const source_table table = read_csv("a,y\nrubbish,1\n2,0\n3,1\n4,0\n");
  EXPECT_THAT(table.columns, ElementsAre("a"));
  EXPECT_THAT(table.taken_rows, ElementsAre(1, 2, 3));
}

TEST_F(left_out_rows, are_those_with_too_few_or_too_many_fields) {
  const source_table table =
      read_csv("a,b,y\n1,2,0\n1,2\n3,4,1\n5,6,7,8\n5,6,0\n");
  EXPECT_THAT(table.taken_rows, ElementsAre(0, 2, 4));
  EXPECT_THAT(reasons_of(faults_),
              ElementsAre("2 -: has 2 columns, the header has 3",
                          "4 -: has 4 columns, the header has 3"));
  EXPECT_EQ(told_by(faults_)[0]["text"], "1,2");
}

TEST_F(left_out_rows, that_span_lines_are_told_with_all_their_text) {
  // The quote takes two lines along and leaves as many fields as there are.
  const std::string bad = "3,\"x,1\n5,6,0\n7\",1";
  read_csv("a,b,y\n1,2,0\n" + bad + "\n5,6,1\n");
  ASSERT_EQ(told_by(faults_).size(), 1u);
  const json told = told_by(faults_)[0];
  EXPECT_EQ(told["line"], 3);
  EXPECT_EQ(told["lines"], 3);
  EXPECT_EQ(told["text"], bad);
  EXPECT_EQ(told["values"]["a"], "3");
  EXPECT_THAT(faults_.found().last, HasSubstr("row 2 (lines 3 to 5)"));
}

TEST_F(left_out_rows, of_json_lines_are_told_as_they_were_written) {
  const std::string missing = "{\"y\": 1,  \"a\":null, \"note\": \"n\"}";
  const std::string no_number = "{\"a\": \"zz\", \"y\": 0}";
  folder_.write("t.jsonl", "{\"a\": 1, \"y\": 0}\n" + missing + "\n" +
                               no_number + "\n{\"a\": 2, \"y\": 1}\n");
  columns_ = {{"a", "float64"}};
  EXPECT_EQ(read(source_format::jsonl, "t.jsonl").rows, 2u);
  ASSERT_EQ(told_by(faults_).size(), 2u);
  EXPECT_EQ(told_by(faults_)[0]["text"], missing);
  EXPECT_EQ(told_by(faults_)[1]["text"], no_number);
  EXPECT_FALSE(told_by(faults_)[0].contains("values"));
}

TEST_F(left_out_rows, are_one_for_a_quote_that_is_never_closed) {
  const source_table table = read_csv("a,b,y\n1,2,0\n1,\"2,1\n3,4,1\n5,6,0\n");
  EXPECT_THAT(table.taken_rows, ElementsAre(0, 2, 3));
  EXPECT_THAT(reasons_of(faults_),
              ElementsAre("2 -: a quote is opened and never closed"));
  EXPECT_EQ(told_by(faults_)[0]["text"], "1,\"2,1");
  EXPECT_EQ(told_by(faults_)[0]["line"], 3);
}

TEST_F(left_out_rows, are_not_those_behind_a_quote_that_another_one_closes) {
  features_ = {"b"};
  const source_table table =
      read_csv("a,b,y\nx,2,0\nx,3,\"1\nx,4,1\n\"x\",5,0\nx,6,0\nx,7,1\n");
  EXPECT_EQ(faults_.counts().rows, 1u);
  EXPECT_THAT(table.taken_rows, ElementsAre(0, 2, 3, 4, 5));
}

TEST_F(left_out_rows, are_those_whose_cells_are_not_of_the_type_in_the_job) {
  columns_ = {{"a", "int64"}};
  const source_table table =
      read_csv("a,y\n1,0\n1.5,1\n3,1\n9999999999999999999,0\n5,0\n");
  EXPECT_THAT(table.taken_rows, ElementsAre(0, 2, 4));
  EXPECT_THAT(reasons_of(faults_)[0],
              HasSubstr("2 a: expected a whole number (int64)"));
}

TEST_F(left_out_rows, are_those_without_a_value_or_with_one_beyond_float32) {
  const source_table table =
      read_csv("a,b,y\n1,2,0\n,2,1\n3,nan,1\n5,1e300,1\n7,8,\n5,6,0\n2,3,1\n");
  EXPECT_THAT(table.taken_rows, ElementsAre(0, 5, 6));
  EXPECT_THAT(
      reasons_of(faults_),
      ElementsAre("2 a: the value is missing",
                  "3 b: NaN is no number to train on; remove the row or fill "
                  "the value in",
                  "4 b: the number does not fit into a float32; remove the row "
                  "or fill the value in",
                  "5 y: the value is missing"));
}

TEST_F(left_out_rows, are_those_whose_label_is_no_class) {
  const source_table table =
      read_csv("a,y\n1,0\n2,1.5\n3,1\n4,-1\n5,70000\n6,0\n");
  EXPECT_THAT(table.taken_rows, ElementsAre(0, 2, 5));
  EXPECT_EQ(faults_.counts().rows, 3u);
  EXPECT_THAT(reasons_of(faults_)[0], HasSubstr("2 y: the label is no class"));
}

TEST_F(left_out_rows, are_those_of_a_class_that_the_training_set_lacks) {
  const source_table train = read_csv("a,y\n1,0\n2,1\n");
  source_request request;
  request.like = &train;
  request.pointer = "/data/test";
  const source_table test = read_csv("a,y\n1,0\n2,2\n3,1\n", request);
  EXPECT_THAT(test.taken_rows, ElementsAre(0, 2));
  EXPECT_EQ(told_by(faults_)[0]["source"], "test");
}

TEST_F(left_out_rows, are_not_counted_where_the_condition_does_not_take_them) {
  where_ = "a is not null";
  const source_table table = read_csv("a,y\n1,0\n,1\n3,1\n5,0\n");
  EXPECT_THAT(table.taken_rows, ElementsAre(0, 2, 3));
  EXPECT_THAT(reasons_of(faults_), IsEmpty());
}

TEST_F(left_out_rows, are_those_for_which_the_condition_has_no_value) {
  where_ = "div(12, cast(a as int64)) > 1";
  const source_table table = read_csv("a,y\n1,0\n0,1\n3,1\n50,0\n2,0\n");
  EXPECT_THAT(table.taken_rows, ElementsAre(0, 2, 4));
  ASSERT_EQ(faults_.counts().rows, 1u);
  EXPECT_THAT(reasons_of(faults_)[0], HasSubstr("a number is divided by zero"));
}

TEST_F(left_out_rows, are_damaged_lines_of_json_and_values_of_other_types) {
  folder_.write("t.jsonl", "{\"a\": 1, \"y\": 0}\n"
                           "{\"a\": 2, \"y\": 1\n"
                           "{\"a\": 3, \"y\": 1}\n"
                           "[4, 0]\n"
                           "{\"a\": \"five\", \"y\": 0}\n"
                           "{\"a\": 6.5, \"y\": 0}\n");
  const source_table table = read(source_format::jsonl, "t.jsonl");
  EXPECT_THAT(table.taken_rows, ElementsAre(0, 2, 5));
  EXPECT_EQ(table.rows, 3u);
  const std::vector<std::string> why = reasons_of(faults_);
  ASSERT_EQ(why.size(), 3u);
  EXPECT_THAT(why[0], HasSubstr("2 -: the object is not closed in its line"));
  EXPECT_THAT(why[1], HasSubstr("4 -: begins with ["));
  EXPECT_THAT(why[2], HasSubstr("5 a: expected double"));
  EXPECT_EQ(told_by(faults_)[2]["text"], "{\"a\": \"five\", \"y\": 0}");
  EXPECT_EQ(told_by(faults_)[2]["line"], 5);
}

TEST_F(left_out_rows, of_json_are_found_among_many_blocks) {
  std::string text;
  std::vector<uint64_t> bad;
  for (int i = 0; i < 60000; ++i) {
    const bool is_bad = i % 997 == 3;
    text += "{\"a\": " + (is_bad ? "\"no\"" : std::to_string(i)) +
            ", \"y\": " + std::to_string(i % 2) + ", \"c\": \"" +
            std::string(30, 'x') + "\"}\n";
    if (is_bad)
      bad.push_back(uint64_t(i) + 1);
  }
  folder_.write("t.jsonl", text);
  features_ = {"a"};
  const source_table table = read(source_format::jsonl, "t.jsonl");
  EXPECT_EQ(table.rows, 60000 - bad.size());
  std::vector<uint64_t> told;
  for (const json& one : told_by(faults_)) {
    told.push_back(one["row"].get<uint64_t>());
    EXPECT_EQ(one["line"], one["row"]);
  }
  EXPECT_EQ(told, bad);
}

TEST_F(left_out_rows, are_those_with_a_null_in_a_parquet_file) {
  arrow::DoubleBuilder a;
  arrow::Int64Builder y;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE((i == 41 ? a.AppendNull() : a.Append(i)).ok());
    ASSERT_TRUE(y.Append(i % 2).ok());
  }
  const auto rows =
      arrow::Table::Make(arrow::schema({arrow::field("a", arrow::float64()),
                                        arrow::field("y", arrow::int64())}),
                         {a.Finish().ValueOrDie(), y.Finish().ValueOrDie()});
  const auto file =
      arrow::io::FileOutputStream::Open((folder_ / "t.parquet").string())
          .ValueOrDie();
  ASSERT_TRUE(
      parquet::arrow::WriteTable(*rows, arrow::default_memory_pool(), file, 30)
          .ok());
  ASSERT_TRUE(file->Close().ok());
  EXPECT_EQ(read(source_format::parquet, "t.parquet").rows, 99u);
  EXPECT_THAT(reasons_of(faults_), ElementsAre("42 a: the value is missing"));
  EXPECT_EQ(told_by(faults_)[0]["values"], json({{"a", ""}, {"y", "1"}}));
}

TEST_F(left_out_rows, leave_a_table_without_mistakes_as_it_is) {
  const source_table table = read_csv("a,y\n1,0\n2,1\n");
  EXPECT_THAT(table.taken_rows, IsEmpty());
  EXPECT_EQ(faults_.counts(), (ledger::rejected_rows{2, 0, 0}));
}

TEST_F(left_out_rows, number_the_rows_of_the_files_that_follow) {
  folder_.write("f0.csv", "a,y\n1,0\n2,1\n");
  folder_.write("f1.csv", "a,y\nx,0\n2,1\n");
  folder_.write("f2.csv", "a,y\n1,0\n2,1\n3,z\n");
  const source_table table = read(source_format::csv, "f*.csv");
  EXPECT_THAT(table.taken_rows, ElementsAre(0, 1, 3, 4, 5));
  EXPECT_EQ(place_of(table, 2), (folder_ / "f1.csv").string() + ": row 2");
  EXPECT_THAT(reasons_of(faults_),
              ElementsAre("1 a: expected a number, found text of 1 character",
                          "3 y: expected a number, found text of 1 character"));
}

TEST_F(left_out_rows, are_refused_if_there_are_too_many) {
  faults_ = row_faults(0.1);
  std::string text = "a,y\n";
  for (int i = 0; i < 50; ++i)
    text += (i % 9 == 4 ? "x," : "1,") + std::to_string(i % 2) + "\n";
  EXPECT_THAT(
      refusal_of_csv(text),
      testing::AllOf(
          HasSubstr("/data/errors_max: 6 of the 50 rows read so far are wrong "
                    "(12 %), at most 10 % may be; the last: "),
          HasSubstr("t.csv: row 50 (line 51), column 'a': expected a number, "
                    "found text of 1 character; correct them, or raise "
                    "errors_max")));
}

TEST_F(left_out_rows, must_not_be_all_of_them) {
  EXPECT_THAT(refusal_of_csv("a,y\n1,0.5\n2,0.25\n"),
              HasSubstr("all 2 rows would be left out; the last: "));
}

TEST(row_faults, keep_no_more_of_a_value_and_of_all_rows_than_they_may) {
  row_faults faults;
  row_fault one;
  one.values = {{"a", std::string(5000, 'x')}};
  for (uint64_t i = 0; i < faults_kept_max + 5; ++i)
    faults.add(one);
  EXPECT_LE(faults.found().lines.size(), faults_bytes_max + 4096);
  EXPECT_EQ(faults.counts().rows, faults_kept_max + 5);
  EXPECT_LT(faults.counts().kept, faults.counts().rows);
  EXPECT_EQ(told_by(faults)[0]["values"]["a"].get<std::string>().size(),
            fault_value_max + 3);
  EXPECT_THAT(rejected_note(faults.counts(), "q.jsonl"),
              HasSubstr("q.jsonl has the first "));
}

TEST(row_faults, of_a_graph_count_a_row_once) {
  row_faults faults(0.5);
  faults.add(7, {});
  faults.add(7, {});
  faults.read_up_to(0, 10);
  faults.read_up_to(0, 4);
  EXPECT_EQ(faults.counts(), (ledger::rejected_rows{10, 1, 1}));
}

TEST(row_faults, are_listed_with_the_paths_of_another_run) {
  const std::string lines =
      "{\"source\":\"a\",\"file\":\"/old/a.csv\",\"row\":1}\n"
      "{\"source\":\"a\",\"file\":\"/old/a.csv.gz\"}\n"
      "{\"source\":\"b\",\"file\":\"/else\"}\n";
  EXPECT_EQ(with_other_files(lines, {"/old/a.csv", "/old/a.csv.gz"},
                             {"/new/b.csv", "/new/c.gz"}),
            "{\"source\":\"a\",\"file\":\"/new/b.csv\",\"row\":1}\n"
            "{\"source\":\"a\",\"file\":\"/new/c.gz\"}\n"
            "{\"source\":\"b\",\"file\":\"/else\"}\n");
  EXPECT_EQ(with_other_files(lines, {"/old/a.csv"}, {}), lines);
}

/// Cells, and what is said of bad rows, of a text in small blocks.
std::string tolerant_reading(const std::string& text, size_t threads) {
  csv_stream::terms how{"/data/train"};
  how.block_bytes = 97;
  how.threads = threads;
  how.tolerant = true;
  csv_stream from(
      "t.csv",
      [text, at = size_t{0}](char* to, size_t bytes) mutable {
        const size_t got = text.copy(to, bytes, at);
        at += got;
        return got;
      },
      how);
  std::string out;
  while (const auto batch = from.next()) {
    out += batch->ToString();
    for (const bad_row& one : from.bad_rows())
      out += from.place_of(one.row) + one.column + one.reason + one.text + "\n";
  }
  return out;
}

TEST(csv_stream, leaves_out_the_same_rows_on_any_number_of_threads) {
  std::string text = "a,b,c\n";
  for (int i = 0; i < 300; ++i)
    text += i % 7 == 3    ? "1,two,3\n"
            : i % 11 == 5 ? "1,2\n"
            : i % 13 == 6 ? "1,\"2,3\n"
                          : "1,2,\"x\ny\"\n";
  const std::string one = tolerant_reading(text, 1);
  EXPECT_THAT(one, HasSubstr("expected a number"));
  EXPECT_THAT(one, HasSubstr("has 2 columns"));
  EXPECT_EQ(tolerant_reading(text, 2), one);
  EXPECT_EQ(tolerant_reading(text, 7), one);
}

} // namespace
} // namespace ballast::data
