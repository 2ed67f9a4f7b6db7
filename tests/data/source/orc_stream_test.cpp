// Goal: every row of an ORC file comes out once, and none of a file that is
// damaged, cut off or of another kind. Method: files written by Arrow itself,
// in memory, then damaged.
#include "data/source/batch_pieces.hpp"
#include "data/source/orc_stream.hpp"
#include "tests/data/some_chunks.hpp"
#include "tests/data/source/stream_tester.hpp"

#include <arrow/adapters/orc/adapter.h>
#include <arrow/util/byte_size.h>

namespace ballast::data {
namespace {

using strings = std::vector<std::string>;
using batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

std::string
orc_of(const batches& all,
       arrow::Compression::type packing = arrow::Compression::UNCOMPRESSED,
       int64_t stripe_bytes = 64 << 20) {
  arrow::adapters::orc::WriteOptions options;
  options.compression = packing;
  options.stripe_size = stripe_bytes;
  const auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  const auto writer =
      arrow::adapters::orc::ORCFileWriter::Open(out.get(), options)
          .ValueOrDie();
  for (const auto& one : all)
    EXPECT_TRUE(writer->Write(*one).ok());
  EXPECT_TRUE(writer->Close().ok());
  return out->Finish().ValueOrDie()->ToString();
}

const auto people = arrow::schema(
    {arrow::field("a", arrow::int32()), arrow::field("b", arrow::utf8()),
     arrow::field("c", arrow::list(arrow::float64())),
     arrow::field("d", arrow::boolean()),
     arrow::field("t", arrow::timestamp(arrow::TimeUnit::NANO))});

batches two_stripes() {
  return {batch_of(people, R"([{"a": 1, "b": "x", "c": [1.5], "d": true,
                            "t": "2020-01-02 03:04:05"},
                           {"a": 2, "b": null, "c": [], "d": null, "t": null}])"),
          batch_of(people, R"([{"a": 3, "b": "z", "c": null, "d": false,
                            "t": "1999-01-02 03:04:05"}])")};
}

strings all_rows_of(const std::string& file) {
  return rows_of(*open_orc_stream(in_memory(file, "people.orc")));
}

TEST(orc_stream, hands_out_every_row_with_its_place) {
  const auto stream = open_orc_stream(in_memory(orc_of(two_stripes())));
  EXPECT_EQ(stream->schema()->field_names(),
            (strings{"a", "b", "c", "d", "t"}));
  EXPECT_EQ(stream->schema()->field(2)->type()->ToString(),
            "list<item: double>");
  const auto rows = stream->next();
  ASSERT_EQ(rows->num_rows(), 3);
  EXPECT_EQ(stream->place_of(2), "rows: row 3");
  EXPECT_TRUE(
      rows->Slice(0, 2)->column(1)->Equals(two_stripes()[0]->column(1)));
  EXPECT_TRUE(
      rows->Slice(0, 2)->column(2)->Equals(two_stripes()[0]->column(2)));
  EXPECT_EQ(stream->next(), nullptr);
}

TEST(orc_stream, hands_out_chosen_columns_in_their_order) {
  const std::string file = orc_of(two_stripes());
  auto stream = open_orc_stream(in_memory(file));
  stream->choose({3, 1, 0});
  EXPECT_EQ(rows_of(*stream),
            (strings{"true x 1", "null null 2", "false z 3"}));
  stream = open_orc_stream(in_memory(file));
  stream->choose({4});
  EXPECT_EQ(rows_of(*stream)[0], "2020-01-02 03:04:05.000000000");
  stream = open_orc_stream(in_memory(file));
  stream->choose({});
  EXPECT_EQ(rows_of(*stream), (strings{"", "", ""}));
  // A column of lists alone, and one behind it: numbers of fields, not leaves.
  stream = open_orc_stream(in_memory(file));
  stream->choose({2});
  EXPECT_EQ(rows_of(*stream).size(), 3U);
}

TEST(orc_stream, does_not_read_other_columns) {
  // Texts that differ, as ORC folds repeated ones.
  arrow::Int64Builder numbers;
  arrow::StringBuilder texts;
  for (int64_t i = 0; i < 2000; ++i) {
    ASSERT_TRUE(numbers.Append(i * i).ok());
    ASSERT_TRUE(texts.Append(std::to_string(i) + std::string(1000, 'a')).ok());
  }
  const auto batch = arrow::RecordBatch::Make(
      arrow::schema({arrow::field("x", arrow::int64()),
                     arrow::field("t", arrow::utf8())}),
      2000, {numbers.Finish().ValueOrDie(), texts.Finish().ValueOrDie()});
  const auto file = std::make_shared<played_file>(orc_of({batch}));
  const auto stream = open_orc_stream({file, "rows"});
  stream->choose({0});
  EXPECT_EQ(rows_of(*stream).size(), 2000U);
  EXPECT_LT(file->bytes_read, 200'000);
}

TEST(orc_stream, unpacks_compressed_stripes) {
  for (const auto packing :
       {arrow::Compression::ZSTD, arrow::Compression::LZ4,
        arrow::Compression::GZIP, arrow::Compression::SNAPPY}) {
    const auto batch = large_batch(1000, 20);
    const strings rows = all_rows_of(orc_of({batch, batch}, packing));
    ASSERT_EQ(rows.size(), 2000U);
    EXPECT_EQ(rows[1999], "999 aaaaaaaaaaaaaaaaaaaa");
  }
}

TEST(orc_stream, takes_files_without_rows) {
  EXPECT_EQ(all_rows_of(orc_of({batch_of(people, "[]")})), strings{});
}

TEST(orc_stream, keeps_batches_small) {
  const auto batch = large_batch(100, 1 << 20);
  const auto stream = open_orc_stream(in_memory(orc_of({batch}), "people.orc"));
  int64_t rows = 0;
  while (const auto piece = stream->next()) {
    EXPECT_LE(arrow::util::ReferencedBufferSize(*piece).ValueOrDie(),
              piece_bytes_max);
    EXPECT_EQ(stream->place_of(0),
              "people.orc: row " + std::to_string(rows + 1));
    rows += piece->num_rows();
  }
  EXPECT_EQ(rows, 100);
}

TEST(orc_stream, reads_stripe_after_stripe) {
  batches all;
  for (int i = 0; i < 40; ++i)
    all.push_back(large_batch(5000, 100));
  const std::string file =
      orc_of(all, arrow::Compression::UNCOMPRESSED, 1 << 20);
  const auto reader =
      arrow::adapters::orc::ORCFileReader::Open(
          std::make_shared<played_file>(file), arrow::default_memory_pool())
          .ValueOrDie();
  EXPECT_GT(reader->NumberOfStripes(), 1);
  const auto stream = open_orc_stream(in_memory(file));
  int64_t rows = 0;
  while (const auto piece = stream->next()) {
    EXPECT_EQ(piece->column(0)->GetScalar(0).ValueOrDie()->ToString(),
              std::to_string(rows % 5000));
    rows += piece->num_rows();
  }
  EXPECT_EQ(rows, 200'000);
}

TEST(orc_stream_refuses, files_of_other_formats) {
  const struct {
    std::string content, words;
  } table[] = {
      {"PAR1....PAR1", "this is Parquet; set format to parquet"},
      {"ARROW1..ARROW1", "this is Arrow IPC (Feather); set format to arrow"},
      {"a,b\n1,2\n", "is no ORC file"},
      {"", "is empty"},
      {"ORC", "cannot be read as ORC"},
  };
  for (const auto& row : table)
    EXPECT_THAT(refusal_of([&] { all_rows_of(row.content); }),
                has_all({"people.orc: ", row.words}));
}

TEST(orc_stream_refuses, a_file_that_is_cut_off_anywhere) {
  const std::string whole = orc_of(two_stripes());
  for (size_t keep = 1; keep < whole.size(); ++keep)
    EXPECT_THAT(refusal_of([&] { all_rows_of(whole.substr(0, keep)); }),
                testing::HasSubstr("people.orc: "));
}

// Whatever byte is wrong: rows or one clear line, no crash, no huge allocation.
TEST(orc_stream, survives_damage) {
  if (under_thread_sanitizer)
    GTEST_SKIP() << "Arrow is not built for the thread sanitizer";
  for (const auto packing :
       {arrow::Compression::UNCOMPRESSED, arrow::Compression::ZSTD}) {
    const std::string whole = orc_of(two_stripes(), packing);
    for (size_t at = 0; at < whole.size(); ++at)
      for (const unsigned char flip : {0x01, 0x80, 0xFF}) {
        std::string damaged = whole;
        damaged[at] = char(damaged[at] ^ flip);
        try {
          all_rows_of(damaged);
        } catch (const ballast_error& error) {
          EXPECT_EQ(error.what_failed().code, errc::invalid_data);
          EXPECT_THAT(error.what(), testing::StartsWith("people.orc: "));
        }
      }
  }
}

TEST(orc_stream, says_what_the_file_says) {
  const auto file = std::make_shared<played_file>(orc_of(two_stripes()));
  const auto stream = open_orc_stream({file, "people.orc"});
  file->fails_after = file->bytes_read;
  file->fails_with = arrow::Status::IOError("no answer")
                         .WithDetail(std::make_shared<read_failure>(failure{
                             errc::unreachable, "the store is away", "/p"}));
  EXPECT_EQ(refusal_of([&] { stream->next(); }, errc::unreachable),
            "the store is away");
}

} // namespace
} // namespace ballast::data
