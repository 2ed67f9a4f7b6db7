// Goal: what is written as text is read again with the same values, and text
// with the same bytes. Method: hard cells, written and read several times over.
#include "data/graph/graph_stream.hpp"
#include "data/sink/json_rows.hpp"
#include "data/sink/node_files.hpp"
#include "data/sink/record_writer.hpp"
#include "tests/data/some_chunks.hpp"
#include "tests/data/source/stream_tester.hpp"

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

namespace ballast::data {
namespace {

using nlohmann::json;
using strings = std::vector<std::string>;

class round_trip : public testing::Test {
protected:
  job reading(const std::string& name) const {
    const json document{{"data",
                         {{"sources",
                           {{"in",
                             {{"format", name.substr(name.rfind('.') + 1)},
                              {"uri", path(name)}}}}},
                          {"train", {{"from", "in"}, {"label", "y"}}}}},
                        {"model", {{"kind", "mlp"}}}};
    return *parse_job(document.dump(), {}, "/").value;
  }
  std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  void copy(const std::string& from, const std::string& to) const {
    write_nodes(reading(from), {"in"}, {path(to)});
  }
  strings rows(const std::string& name) const {
    const job what = reading(name);
    graph_stream from(what.data, "in", {});
    from.choose_all();
    return rows_of(from);
  }
  std::string types(const std::string& name) const {
    const job what = reading(name);
    return graph_stream(what.data, "in", {}).choose_all()->ToString();
  }
  std::string bytes(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  temporary_folder folder_;
};

const std::string hard =
    "id,zip,number,text,long\n"
    "9223372036854775807,01234,0.1,\"a \"\"quote\"\", a comma\",1\n"
    "-9223372036854775808,00000,1e+22,\"two\nlines\r\nor three\","
    "18446744073709551615\n"
    "9007199254740993,99999,-0,grüße 你好 🚢,007\n"
    ",,,,\n"
    "0,10,2.5e-300,1.10,-0\n";
const strings hard_rows = {
    "9223372036854775807 01234 0.1 a \"quote\", a comma 1",
    std::string("-9223372036854775808 00000 1e+22 two\nlines\r\nor three ") +
        "18446744073709551615",
    "9007199254740993 99999 -0 grüße 你好 🚢 007", "null null null null null",
    "0 10 2.5e-300 1.10 -0"};

TEST_F(round_trip, keeps_hard_cells_of_csv) {
  std::ofstream(path("in.csv")) << hard;
  EXPECT_EQ(rows("in.csv"), hard_rows);
  copy("in.csv", "1.csv");
  EXPECT_EQ(rows("1.csv"), hard_rows);
  copy("1.csv", "2.csv");
  EXPECT_EQ(bytes("2.csv"), bytes("1.csv"));
}

TEST_F(round_trip, keeps_the_missing_cells_of_a_lone_column) {
  std::ofstream(path("in.csv")) << "a\n\"\"\n1\n\"\"\n\"\"\n2\n3\n\"\"\n";
  const strings expected = {"null", "1", "null", "null", "2", "3", "null"};
  EXPECT_EQ(rows("in.csv"), expected);
  copy("in.csv", "1.csv");
  EXPECT_EQ(rows("1.csv"), expected);
}

TEST_F(round_trip, keeps_hard_cells_from_csv_to_jsonl_and_back) {
  std::ofstream(path("in.csv")) << hard;
  copy("in.csv", "1.jsonl");
  EXPECT_EQ(rows("1.jsonl"), hard_rows);
  EXPECT_EQ(types("1.jsonl"), types("in.csv"));
  copy("1.jsonl", "2.jsonl");
  EXPECT_EQ(bytes("2.jsonl"), bytes("1.jsonl"));
  copy("2.jsonl", "3.csv");
  EXPECT_EQ(rows("3.csv"), hard_rows);
}

TEST_F(round_trip, keeps_nested_values_of_jsonl) {
  const std::string lines =
      "{\"o\":{\"k\":[1,null,3],\"t\":\"2026-01-31\"},\"l\":[[1.5],[]],"
      "\"n\":9007199254740993,\"b\":true}\n"
      "{\"o\":null,\"l\":[],\"n\":-1,\"b\":null}\n";
  std::ofstream(path("in.jsonl")) << lines;
  copy("in.jsonl", "1.jsonl");
  EXPECT_EQ(bytes("1.jsonl"), lines);
  EXPECT_THAT(
      refusal_of([&] { copy("in.jsonl", "2.csv"); }),
      has_all({"2.csv: column 'o' holds lists or structs", "\"drop\""}));
  EXPECT_FALSE(std::filesystem::exists(path("2.csv")));
}

TEST_F(round_trip, keeps_numbers_that_json_lacks) {
  arrow::DoubleBuilder numbers;
  const double infinite = std::numeric_limits<double>::infinity();
  ASSERT_TRUE(
      numbers.AppendValues({std::nan(""), -infinite, infinite, -0.0, 5}).ok());
  const auto rows_in = arrow::RecordBatch::Make(
      arrow::schema({arrow::field("x", arrow::float64())}), 5,
      {numbers.Finish().ValueOrDie()});
  const auto to =
      open_writer(path("in.jsonl"), path("in.jsonl"), rows_in->schema());
  to->write(rows_in);
  to->finish();
  EXPECT_EQ(rows("in.jsonl"), (strings{"nan", "-inf", "inf", "-0", "5"}));
}

TEST(json_rows, have_maps_as_objects) {
  const auto rows = batch_of(
      arrow::schema(
          {arrow::field("m", arrow::map(arrow::utf8(), arrow::int64())),
           arrow::field("f", arrow::fixed_size_list(arrow::int32(), 2))}),
      R"([{"m": [["a", 1], ["b", null]], "f": [1, 2]}])");
  EXPECT_EQ(json_lines_of(*rows), "{\"m\":{\"a\":1,\"b\":null},\"f\":[1,2]}\n");
}

} // namespace
} // namespace ballast::data
