// Goal: every row of an Arrow file or stream comes out once, as plain values,
// and none of a file that is damaged, cut off or of another kind.
// Method: files written by Arrow itself, in memory, then damaged.
#include "data/source/batch_pieces.hpp"
#include "data/source/ipc_stream.hpp"
#include "tests/data/some_chunks.hpp"
#include "tests/data/source/stream_tester.hpp"

#include <arrow/ipc/writer.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/compression.h>

namespace ballast::data {
namespace {

using batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;
using strings = std::vector<std::string>;

std::string
written(bool file, const std::shared_ptr<arrow::Schema>& schema,
        const batches& all,
        arrow::Compression::type packing = arrow::Compression::UNCOMPRESSED) {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  if (packing != arrow::Compression::UNCOMPRESSED)
    options.codec = arrow::util::Codec::Create(packing).ValueOrDie();
  const auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  const auto writer =
      (file ? arrow::ipc::MakeFileWriter(out, schema, options)
            : arrow::ipc::MakeStreamWriter(out, schema, options))
          .ValueOrDie();
  for (const auto& one : all)
    EXPECT_TRUE(writer->WriteRecordBatch(*one).ok());
  EXPECT_TRUE(writer->Close().ok());
  return out->Finish().ValueOrDie()->ToString();
}

const auto three_columns = arrow::schema(
    {arrow::field("a", arrow::int32()), arrow::field("b", arrow::utf8()),
     arrow::field("c", arrow::list(arrow::float64()))});

batches two_batches() {
  return {batch_of(three_columns, R"([{"a": 1, "b": "x", "c": [1.5]},
                                      {"a": 2, "b": null, "c": []}])"),
          batch_of(three_columns, R"([{"a": 3, "b": "z", "c": null}])")};
}

class ipc_stream : public testing::TestWithParam<bool> {
protected:
  std::string written_here(const std::shared_ptr<arrow::Schema>& schema,
                           const batches& all) const {
    return written(GetParam(), schema, all);
  }
};
INSTANTIATE_TEST_SUITE_P(of, ipc_stream, testing::Bool(), [](const auto& info) {
  return info.param ? "a_file" : "a_stream";
});

TEST_P(ipc_stream, hands_out_every_row_with_its_place) {
  const auto stream =
      open_ipc_stream(in_memory(written_here(three_columns, two_batches())));
  EXPECT_TRUE(stream->schema()->Equals(three_columns));
  const auto first = stream->next();
  EXPECT_EQ(first->num_rows(), 2);
  EXPECT_EQ(stream->place_of(1), "rows: row 2");
  EXPECT_EQ(stream->next()->num_rows(), 1);
  EXPECT_EQ(stream->place_of(0), "rows: row 3");
  EXPECT_EQ(stream->next(), nullptr);
}

TEST_P(ipc_stream, hands_out_chosen_columns_in_their_order) {
  const std::string file = written_here(three_columns, two_batches());
  auto stream = open_ipc_stream(in_memory(file));
  stream->choose({1, 0});
  EXPECT_EQ(rows_of(*stream), (strings{"x 1", "null 2", "z 3"}));
  stream = open_ipc_stream(in_memory(file));
  stream->choose({0, 0});
  EXPECT_EQ(rows_of(*stream), (strings{"1 1", "2 2", "3 3"}));
  stream = open_ipc_stream(in_memory(file));
  stream->choose({});
  EXPECT_EQ(rows_of(*stream), (strings{"", "", ""}));
  EXPECT_EQ(stream->schema()->num_fields(), 3);
}

TEST(ipc_stream_of_a_file, does_not_read_other_columns) {
  const auto batch = large_batch(1000, 1000);
  const auto file = std::make_shared<played_file>(
      written(true, batch->schema(), {batch, batch}));
  const auto stream = open_ipc_stream({file, "rows"});
  stream->choose({0});
  EXPECT_EQ(rows_of(*stream).size(), 2000U);
  EXPECT_LT(file->bytes_read, 100'000);
}

TEST_P(ipc_stream, unpacks_compressed_buffers) {
  for (const auto packing :
       {arrow::Compression::LZ4_FRAME, arrow::Compression::ZSTD}) {
    const auto batch = large_batch(1000, 20);
    const auto stream = open_ipc_stream(in_memory(
        written(GetParam(), batch->schema(), {batch, batch}, packing)));
    const strings rows = rows_of(*stream);
    ASSERT_EQ(rows.size(), 2000U);
    EXPECT_EQ(rows[1999], "999 aaaaaaaaaaaaaaaaaaaa");
  }
}

TEST_P(ipc_stream, takes_files_without_rows_or_columns) {
  EXPECT_EQ(
      rows_of(*open_ipc_stream(in_memory(written_here(three_columns, {})))),
      strings{});
  const auto none = batch_of(three_columns, "[]");
  EXPECT_EQ(rows_of(*open_ipc_stream(in_memory(
                written_here(three_columns, {none, two_batches()[1], none})))),
            strings{"3 z null"});
  const auto empty = arrow::schema(arrow::FieldVector{});
  const auto stream = open_ipc_stream(in_memory(written_here(
      empty, {arrow::RecordBatch::Make(empty, 3, arrow::ArrayVector{})})));
  EXPECT_EQ(stream->schema()->num_fields(), 0);
  EXPECT_EQ(rows_of(*stream), (strings{"", "", ""}));
}

TEST(ipc_stream_with_dictionaries, hands_out_plain_values) {
  const auto coded = arrow::dictionary(arrow::int8(), arrow::utf8());
  const auto schema = arrow::schema(
      {arrow::field("d", coded),
       arrow::field("s",
                    arrow::struct_({arrow::field("l", arrow::list(coded))}))});
  const auto column = [&](const char* indices, const char* texts) {
    return arrow::json::DictArrayFromJSONString(coded, indices, texts)
        .ValueOrDie();
  };
  const auto nested = [&](const char* indices, const char* texts,
                          const char* ends) {
    const auto list =
        arrow::ListArray::FromArrays(
            *arrow::json::ArrayFromJSONString(arrow::int32(), ends)
                 .ValueOrDie(),
            *column(indices, texts))
            .ValueOrDie();
    return arrow::StructArray::Make({list}, {"l"}).ValueOrDie();
  };
  // The second batch numbers its texts otherwise, so only a stream can hold it.
  const batches all{
      arrow::RecordBatch::Make(
          schema, 3,
          {column("[1, 0, null]", R"(["x", "y"])"),
           nested("[1, 0, 1]", R"(["p", "q"])", "[0, 2, 2, 3]")}),
      arrow::RecordBatch::Make(
          schema, 1,
          {column("[0]", R"(["z"])"), nested("[0]", R"(["r"])", "[0, 1]")})};
  const auto stream = open_ipc_stream(in_memory(written(false, schema, all)));
  EXPECT_EQ(stream->schema()->field(0)->type()->id(), arrow::Type::STRING);
  EXPECT_EQ(stream->schema()->field(1)->type()->ToString(),
            "struct<l: list<item: string>>");
  std::vector<std::string> texts;
  while (const auto batch = stream->next()) {
    EXPECT_TRUE(batch->schema()->Equals(stream->schema()));
    EXPECT_TRUE(batch->ValidateFull().ok());
    for (int64_t i = 0; i < batch->num_rows(); ++i)
      texts.push_back(batch->column(0)->GetScalar(i).ValueOrDie()->ToString() +
                      batch->column(1)->GetScalar(i).ValueOrDie()->ToString());
  }
  ASSERT_EQ(texts.size(), 4U);
  EXPECT_THAT(texts[0], has_all({"y", "q", "p"}));
  EXPECT_THAT(texts[2], has_all({"null", "q"}));
  EXPECT_THAT(texts[3], has_all({"z", "r"}));
}

// A text of 1 MiB that a million rows name would be a terabyte.
TEST(ipc_stream_with_dictionaries, decodes_no_more_than_a_batch_may_hold) {
  const auto coded = arrow::dictionary(arrow::int32(), arrow::utf8());
  const auto schema = arrow::schema({arrow::field("d", coded)});
  arrow::StringBuilder texts;
  ASSERT_TRUE(texts.Append(std::string(1 << 20, 'a')).ok());
  const auto indices =
      arrow::MakeArrayFromScalar(arrow::Int32Scalar(0), 300).ValueOrDie();
  const auto batch =
      arrow::RecordBatch::Make(schema, 300,
                               {arrow::DictionaryArray::FromArrays(
                                    coded, indices, texts.Finish().ValueOrDie())
                                    .ValueOrDie()});
  const auto stream =
      open_ipc_stream(in_memory(written(true, schema, {batch})));
  int64_t rows = 0;
  while (const auto piece = stream->next()) {
    EXPECT_LE(arrow::util::TotalBufferSize(*piece), piece_bytes_max + 4096);
    rows += piece->num_rows();
  }
  EXPECT_EQ(rows, 300);
}

TEST_P(ipc_stream, cuts_large_batches) {
  const auto batch = large_batch(100, 1 << 20);
  const auto stream =
      open_ipc_stream(in_memory(written_here(batch->schema(), {batch})));
  int64_t rows = 0;
  int pieces = 0;
  while (const auto piece = stream->next()) {
    EXPECT_LE(arrow::util::ReferencedBufferSize(*piece).ValueOrDie(),
              piece_bytes_max);
    EXPECT_EQ(stream->place_of(0), "rows: row " + std::to_string(rows + 1));
    EXPECT_EQ(piece->column(0)->GetScalar(0).ValueOrDie()->ToString(),
              std::to_string(rows));
    rows += piece->num_rows();
    ++pieces;
  }
  EXPECT_EQ(rows, 100);
  EXPECT_EQ(pieces, 2);
}

strings all_rows(const std::string& file) {
  return rows_of(*open_ipc_stream(in_memory(file, "people.arrow")));
}

TEST(ipc_stream_refuses, files_of_other_formats) {
  const struct {
    std::string content, words;
  } table[] = {
      {"PAR1....PAR1", "this is Parquet; set format to parquet"},
      {"ORC\n....", "this is ORC; set format to orc"},
      {"FEA1....FEA1", "Feather of version 1"},
      {R"({"a": 1})", "this is JSON; set format to jsonl"},
      {"\x1F\x8B\x08.....", "gzip; unpack it first"},
      {"<html>404", "HTML"},
      {"a,b\n1,2\n", "neither an Arrow IPC file nor an Arrow stream"},
      {"", "is empty"},
      {"AR", "neither"},
      {"ARROW1", "is truncated"},
      {std::string("\0\0\0\0", 4), "neither"},
  };
  for (const auto& row : table)
    EXPECT_THAT(refusal_of([&] { all_rows(row.content); }),
                has_all({"people.arrow: ", row.words}));
}

TEST(ipc_stream_refuses, a_file_that_is_cut_off_anywhere) {
  const std::string whole = written(true, three_columns, two_batches());
  for (size_t keep = 1; keep < whole.size(); keep += 3)
    EXPECT_THAT(refusal_of([&] { all_rows(whole.substr(0, keep)); }),
                testing::HasSubstr("people.arrow: "));
}

TEST(ipc_stream_refuses, a_stream_that_is_cut_off_anywhere) {
  const std::string whole = written(false, three_columns, two_batches());
  for (size_t keep = 1; keep < whole.size(); ++keep)
    EXPECT_THAT(refusal_of([&] { all_rows(whole.substr(0, keep)); }),
                testing::HasSubstr("people.arrow: "));
  EXPECT_THAT(refusal_of([&] { all_rows(whole.substr(0, whole.size() - 8)); }),
              has_all({"no end mark", "rows may be missing"}));
}

TEST(ipc_stream_refuses, what_follows_the_end_of_a_stream) {
  const std::string one = written(false, three_columns, two_batches());
  EXPECT_THAT(refusal_of([&] { all_rows(one + one); }),
              has_all({std::to_string(one.size()) + " bytes follow",
                       "a file of its own"}));
}

TEST(ipc_stream_refuses, a_batch_of_another_schema) {
  const auto other = arrow::schema({arrow::field("a", arrow::utf8())});
  const std::string whole = written(false, three_columns, two_batches());
  const std::string strange =
      written(false, other, {batch_of(other, R"([{"a": "x"}])")});
  const std::string schema_alone = written(false, three_columns, {});
  const std::string other_alone = written(false, other, {});
  constexpr size_t end_mark = 8;
  // The batches of one stream behind the schema of another.
  EXPECT_THAT(refusal_of([&] {
                all_rows(
                    schema_alone.substr(0, schema_alone.size() - end_mark) +
                    strange.substr(other_alone.size() - end_mark));
              }),
              has_all({"people.arrow: ", "Arrow IPC"}));
  // Another schema in the middle.
  EXPECT_THAT(refusal_of([&] {
                all_rows(whole.substr(0, whole.size() - end_mark) + strange);
              }),
              has_all({"people.arrow: ", "Arrow IPC"}));
}

// Whatever byte is wrong: rows or one clear line, no crash, no huge allocation.
TEST_P(ipc_stream, survives_damage) {
  if (under_thread_sanitizer)
    GTEST_SKIP() << "Arrow is not built for the thread sanitizer";
  for (const auto packing :
       {arrow::Compression::UNCOMPRESSED, arrow::Compression::ZSTD}) {
    const std::string whole =
        written(GetParam(), three_columns, two_batches(), packing);
    for (size_t at = 0; at < whole.size(); ++at)
      for (const unsigned char flip : {0x01, 0x80, 0xFF}) {
        std::string damaged = whole;
        damaged[at] = char(damaged[at] ^ flip);
        try {
          all_rows(damaged);
        } catch (const ballast_error& error) {
          EXPECT_EQ(error.what_failed().code, errc::invalid_data);
          EXPECT_THAT(error.what(), testing::StartsWith("people.arrow: "));
        }
      }
  }
}

TEST(ipc_stream_of_a_file, says_what_the_file_says) {
  const std::string content = written(true, three_columns, two_batches());
  const auto file = std::make_shared<played_file>(content);
  const auto stream = open_ipc_stream({file, "people.arrow"});
  file->fails_after = file->bytes_read;
  EXPECT_THAT(refusal_of([&] { stream->next(); }),
              has_all({"people.arrow: cannot be read: ", "disk is broken"}));

  const auto remote = std::make_shared<played_file>(content);
  const auto from_afar = open_ipc_stream({remote, "people.arrow"});
  remote->fails_after = remote->bytes_read;
  remote->fails_with = arrow::Status::IOError("no answer")
                           .WithDetail(std::make_shared<read_failure>(failure{
                               errc::unreachable, "the store is away", "/p"}));
  EXPECT_EQ(refusal_of([&] { from_afar->next(); }, errc::unreachable),
            "the store is away");
}

TEST(ipc_stream_of_a_file, stops_when_it_is_told_to) {
  std::stop_source stop;
  stream_input input = in_memory(written(true, three_columns, two_batches()));
  input.stop = store::work_watch(stop.get_token());
  const auto stream = open_ipc_stream(input);
  EXPECT_NE(stream->next(), nullptr);
  stop.request_stop();
  refusal_of([&] { stream->next(); }, errc::stopped);
}

} // namespace
} // namespace ballast::data
