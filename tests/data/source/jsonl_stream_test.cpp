// Goal: every object of a JSON lines file is a row, and a line that is none is
// refused by its row, line and column. Method: small texts, whole and damaged,
// and large ones around the first 1 MiB, by which the columns are told.
#include "data/source/batch_pieces.hpp"
#include "data/source/jsonl_stream.hpp"
#include "data/source/source_error.hpp"
#include "tests/data/source/stream_tester.hpp"
#include "tests/data/source_builders.hpp"

#include <arrow/util/byte_size.h>

namespace ballast::data {
namespace {

using strings = std::vector<std::string>;

std::unique_ptr<record_stream>
jsonl(const std::string& text, std::shared_ptr<arrow::Schema> given = nullptr) {
  return open_jsonl_stream(in_memory(text, "people.jsonl"), std::move(given));
}

/// What is said about a file, read whole.
std::string refused(const std::string& text,
                    std::shared_ptr<arrow::Schema> given = nullptr) {
  return refusal_of([&] { rows_of(*jsonl(text, std::move(given))); });
}

/// More than 1 MiB of {"a":1}.
std::string first_block() {
  std::string out;
  while (out.size() <= 1 << 20)
    out += "{\"a\":1}\n";
  return out;
}
const size_t rows_of_first_block = first_block().size() / 8;

TEST(jsonl_stream, takes_its_types_from_the_content) {
  const auto stream =
      jsonl("{\"i\": 1, \"f\": 1, \"t\": \"x\", \"b\": true, \"n\": null}\n"
            "{\"t\": \"y\", \"i\": 2, \"f\": 2.5, \"o\": {\"l\": [1, 2]}}\n");
  EXPECT_EQ(stream->schema()->ToString(),
            "i: int64\nf: double\nt: string\nb: bool\nn: null\n"
            "o: struct<l: list<item: int64>>");
  EXPECT_EQ(stream->next()->num_rows(), 2);
  EXPECT_EQ(stream->next(), nullptr);
}

TEST(jsonl_stream, counts_rows_and_lines) {
  const auto stream = jsonl("\n{\"a\": 1}\r\n  \t\n\n{\"a\": 2}");
  EXPECT_EQ(stream->next()->num_rows(), 2);
  EXPECT_EQ(stream->place_of(0), "people.jsonl: row 1 (line 2)");
  EXPECT_EQ(stream->place_of(1), "people.jsonl: row 2 (line 5)");
}

TEST(jsonl_stream, hands_out_chosen_columns_in_their_order) {
  const std::string text = "{\"a\": 1, \"b\": \"x\", \"c\": 2}\n"
                           "{\"c\": 3, \"b\": \"y\"}\n";
  auto stream = jsonl(text);
  stream->choose({2, 1, 0});
  EXPECT_EQ(rows_of(*stream), (strings{"2 x 1", "3 y null"}));
  stream = jsonl(text);
  stream->choose({1, 1});
  EXPECT_EQ(rows_of(*stream), (strings{"x x", "y y"}));
  stream = jsonl(text);
  stream->choose({});
  EXPECT_EQ(rows_of(*stream), (strings{"", ""}));
}

TEST(jsonl_stream, takes_a_schema_that_is_given) {
  const auto given = arrow::schema(
      {arrow::field("a", arrow::float32()), arrow::field("z", arrow::utf8()),
       arrow::field("d", arrow::dictionary(arrow::int32(), arrow::utf8()))});
  const auto stream =
      jsonl("{\"a\": 1, \"b\": [], \"d\": \"x\"}\n{\"z\": \"y\"}\n", given);
  EXPECT_EQ(stream->schema()->field(2)->type()->ToString(), "string");
  EXPECT_EQ(rows_of(*stream), (strings{"1 null x", "null y null"}));
  EXPECT_EQ(rows_of(*jsonl("", given)), strings{});
  EXPECT_EQ(rows_of(*jsonl("\n \n", given)), strings{});
}

TEST(jsonl_stream, names_a_type_that_json_does_not_have) {
  EXPECT_THAT(
      refused("{}\n", arrow::schema({arrow::field(
                          "v", arrow::duration(arrow::TimeUnit::SECOND))})),
      has_all({"column 'v'", "duration[s] cannot be read from JSON"}));
}

TEST(jsonl_stream, unpacks_by_content) {
  std::string text;
  for (int i = 0; i < 300'000; ++i)
    text += "{\"a\": " + std::to_string(i) + "}\n";
  const std::string packed = gzip(text);
  const auto stream = jsonl(packed);
  stream->choose({0});
  const strings rows = rows_of(*stream);
  ASSERT_EQ(rows.size(), 300'000U);
  EXPECT_EQ(rows.back(), "299999");
  EXPECT_THAT(refused(packed.substr(0, packed.size() / 2)),
              has_all({"people.jsonl: is truncated or damaged after line"}));
  EXPECT_THAT(refused(packed.substr(0, packed.size() - 4)),
              has_all({"people.jsonl: is truncated or damaged after line"}));
}

TEST(jsonl_stream, skips_a_byte_order_mark) {
  EXPECT_EQ(rows_of(*jsonl("\xEF\xBB\xBF{\"a\": 1}\n")), strings{"1"});
}

TEST(jsonl_stream, names_row_and_column_within_the_first_block) {
  EXPECT_THAT(refused("{\"a\": 1}\n\n{\"a\": \"secret\"}\n"),
              has_all({"people.jsonl: row 2 (line 3), column 'a'",
                       "changed from number to string"}));
  EXPECT_THAT(refused("{\"o\": {\"l\": [1]}}\n{\"o\": {\"l\": [\"x\"]}}\n"),
              has_all({"row 2 (line 2), column 'o/l/[]'"}));
}

TEST(jsonl_stream, names_row_and_column_behind_the_first_block) {
  const std::string begin = first_block();
  const std::string row = "row " + std::to_string(rows_of_first_block + 2);
  const struct {
    std::string line;
    strings words;
  } table[] = {
      {"{\"a\":2.5}",
       {", column 'a': expected int64, as in the first 131072 rows"}},
      {"{\"a\":\"x\"}", {", column 'a': expected int64"}},
      {"{\"a\":[1]}", {", column 'a': expected int64"}},
      {"{\"b\":1}", {": the column 'b' is new here"}},
      {"{\"a\":1,\"a\":2}", {", column 'a'", "twice"}},
      {"{\"a\" 1}", {"no valid JSON", "Missing a colon"}},
  };
  for (const auto& one : table) {
    strings words = one.words;
    words.push_back("people.jsonl: " + row + " (line " +
                    std::to_string(rows_of_first_block + 2) + ")");
    EXPECT_THAT(refused(begin + "{\"a\":3}\n" + one.line + "\n{\"a\":4}\n"),
                has_all(words));
  }
}

TEST(jsonl_stream, does_not_look_at_columns_that_are_not_chosen) {
  const auto stream = jsonl("{\"a\":1,\"b\":1}\n" + first_block() +
                            "{\"a\":2,\"b\":\"x\",\"c\":1}\n");
  stream->choose({0});
  EXPECT_EQ(rows_of(*stream).back(), "2");
}

TEST(jsonl_stream, names_a_value_that_may_not_be_missing) {
  const auto given = arrow::schema({arrow::field("a", arrow::int64()),
                                    arrow::field("b", arrow::int64(), false)});
  EXPECT_THAT(refused("{\"a\":1,\"b\":1}\n{\"a\":1}\n", given),
              has_all({"row 2", "column 'b': expected int64, which may not be "
                                "missing; correct the row"}));
}

// Whoever may ask for a job need not be allowed to read its files.
TEST(jsonl_stream, quotes_cells_in_the_detail_alone) {
  const auto given = arrow::schema({arrow::field("a", arrow::int64())});
  try {
    rows_of(*jsonl("{\"a\": 77.5}\n", given));
    FAIL();
  } catch (const source_error& error) {
    EXPECT_THAT(error.detail(), testing::HasSubstr("77.5"));
    EXPECT_THAT(error.what_failed().message,
                testing::Not(testing::HasSubstr("77.5")));
  }
}

TEST(jsonl_stream_refuses, lines_that_are_no_object) {
  const struct {
    std::string text, words;
  } table[] = {
      {"[{\"a\": 1}]\n", "row 1 (line 1): begins with [; expected one JSON"},
      {"{\"a\": 1}\n5\n", "row 2 (line 2): expected one JSON object {...}"},
      {"{\"a\": 1}\nnull\n", "row 2 (line 2): expected one JSON object {...}"},
      {"{\"a\": 1}\n\"x\"\n", "row 2 (line 2): expected one JSON object {...}"},
      {"{\"a\": 1} {\"a\": 2}\n", "row 1 (line 1): something follows"},
      {"{\"a\": 1},\n", "row 1 (line 1): something follows"},
      {"{\n\"a\": 1\n}\n", "row 1 (line 1): the object is not closed"},
      {"{\"a\": 1}\n{\"a\": \"\n", "row 2 (line 2): the object is not closed"},
      {"{\"a\": 1}\n{\"a\": \"x\\", "is truncated: it breaks off in row 2"},
      {"{\"a\": 1}\n{\"a\":", "is truncated: it breaks off in row 2 (line 2)"},
      {"{\"a\": caf\xe9}\n", "row 1 (line 1): is no valid UTF-8"},
      {std::string("{\"a\": \"\0\"}\n", 11), "row 1 (line 1): has a NUL byte"},
      {"{\"a\": \"\\ud800\"}\n", "row 1 (line 1): is no valid JSON"},
      {"{\"a\": 1}\n{\"a\": 1]\n", "row 2 (line 2): is no valid JSON"},
      {"{\"a\": 1e999}\n", "row 1 (line 1): is no valid JSON: Number too big"},
      {"{a: 1}\n", "row 1 (line 1): is no valid JSON"},
      {"", "has no rows, so its columns are unknown"},
      {"\n\n", "has no rows, so its columns are unknown"},
      {"\xFF\xFE{ ", "UTF-16; convert it with `iconv -f UTF-16"},
      {"PAR1....PAR1", "this is Parquet; set format to parquet"},
      {"a,b\n1,2\n", "row 1 (line 1): expected one JSON object"},
  };
  for (const auto& one : table)
    EXPECT_THAT(refused(one.text), has_all({"people.jsonl: ", one.words}));
}

// Arrow's parser would overflow the stack.
TEST(jsonl_stream_refuses, objects_that_nest_too_deep) {
  const std::string deep =
      "{\"a\":" + std::string(200'000, '[') + std::string(200'000, ']') + "}\n";
  EXPECT_THAT(refused("{\"a\":null}\n" + deep),
              has_all({"row 2 (line 2): nests deeper than 64 levels"}));
  const std::string allowed =
      "{\"a\":" + std::string(63, '[') + std::string(63, ']') + "}\n";
  EXPECT_EQ(rows_of(*jsonl(allowed)).size(), 1U);
}

TEST(jsonl_stream_refuses, a_line_that_is_too_long) {
  std::string text = "{\"a\": \"x\"}\n{\"a\": \"";
  text.resize(200 << 20, 'x');
  const auto file = std::make_shared<played_file>(std::move(text));
  const auto stream = refusal_of([&] {
    rows_of(*open_jsonl_stream({file, "people.jsonl"}));
  });
  EXPECT_THAT(stream, has_all({"people.jsonl: line 2 is longer than 64 MiB"}));
  EXPECT_LT(file->bytes_read, 70 << 20);
}

TEST(jsonl_stream, takes_a_line_of_many_megabytes) {
  const std::string text = "{\"a\": \"" + std::string(20 << 20, 'x') + "\"}\n";
  const auto stream = jsonl(text + text);
  EXPECT_EQ(stream->next()->num_rows(), 1);
  EXPECT_EQ(stream->next()->num_rows(), 1);
  EXPECT_EQ(stream->next(), nullptr);
}

// Few bytes can claim many columns for many rows: 1 MiB can hold 50,000 columns
// and 170,000 rows.
TEST(jsonl_stream, bounds_the_memory_of_sparse_rows) {
  std::string text = "{\"k0\":1";
  for (int i = 1; i < 4'000; ++i)
    text += ",\"k" + std::to_string(i) + "\":1";
  text += "}\n";
  const size_t rows = 8'000;
  for (size_t i = 1; i < rows; ++i)
    text += "{}\n";
  const auto stream = jsonl(text);
  EXPECT_EQ(stream->schema()->num_fields(), 4'000);
  size_t seen = 0;
  while (const auto batch = stream->next()) {
    EXPECT_LE(arrow::util::TotalBufferSize(*batch), 2 * piece_bytes_max);
    seen += size_t(batch->num_rows());
  }
  EXPECT_EQ(seen, rows);
}

TEST(jsonl_stream_refuses, keys_that_are_data) {
  std::string text = "{\"a\": 1}\n{\"0\":1";
  for (int i = 1; i < 70'000; ++i)
    text += ",\"" + std::to_string(i) + "\":1";
  EXPECT_THAT(refused(text + "}\n"),
              has_all({"more than 65536 columns", "first 2 rows",
                       "are its keys data?"}));
}

// Whatever byte is wrong: rows or one clear line.
TEST(jsonl_stream, survives_damage) {
  const std::string whole = "{\"a\": 1, \"b\": {\"c\": [1, 2.5, null]}}\n"
                            "{\"a\": 2, \"b\": {\"c\": [\"\\u00e4\\\"\"]}}\n";
  for (size_t at = 0; at < whole.size(); ++at)
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = whole;
      damaged[at] = char(byte);
      try {
        rows_of(*jsonl(damaged));
      } catch (const ballast_error& error) {
        EXPECT_EQ(error.what_failed().code, errc::invalid_data);
        EXPECT_THAT(error.what(), testing::StartsWith("people.jsonl: "));
      }
    }
}

TEST(jsonl_stream, says_what_the_file_says) {
  const auto file = std::make_shared<played_file>(gzip(first_block()));
  file->fails_after = 100;
  file->fails_with = arrow::Status::IOError("no answer")
                         .WithDetail(std::make_shared<read_failure>(failure{
                             errc::unreachable, "the store is away", "/p"}));
  EXPECT_EQ(refusal_of(
                [&] {
                  open_jsonl_stream({file, "people.jsonl"});
                },
                errc::unreachable),
            "the store is away");
}

} // namespace
} // namespace ballast::data
