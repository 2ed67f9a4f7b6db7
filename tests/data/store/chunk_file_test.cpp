// Goal: chunks read the same however many share a batch of their file, in any
// order, by several threads, and a damaged file is named. Method: sets of a few
// and of many small chunks.
#include "data/store/chunk_file.hpp"

#include "data/prepared/prepared_set.hpp"
#include "runtime/base/errors.hpp"
#include "tests/data/source_builders.hpp"

#include <algorithm>
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <filesystem>
#include <gmock/gmock.h>
#include <thread>

namespace ballast::data {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class chunk_files_of_many : public testing::Test {
protected:
  void SetUp() override {
    set_ = prepare(job_of(synthetic_source(rows_of_file, 2, 4), 4), cache_);
    file_ = cache_ / set_->about().content_id / "train.arrow";
    ASSERT_GT(about().train.size(), 5000U);
  }
  const ledger::manifest& about() const { return set_->about(); }
  void expect_right(const chunk_file& file, size_t first, size_t step) const {
    for (size_t k = 0; k < about().train.size(); ++k) {
      const size_t i = (first + k * step) % about().train.size();
      const chunk_ptr one = file.read(chunk_id(uint32_t(i)));
      ASSERT_EQ(one->rows, about().train[i].rows);
      ASSERT_EQ(one->bytes, about().train[i].bytes);
      ASSERT_EQ(checksum(*one, about().row), about().train[i].checksum);
    }
  }
  std::string why_not(const std::vector<ledger::chunk_info>& chunks) const {
    try {
      const chunk_file file(file_, chunks, about().row);
      for (const ledger::chunk_info& one : chunks)
        (void)file.read(one.id);
      return "";
    } catch (const ballast_error& error) {
      return error.what();
    }
  }

  static constexpr uint64_t rows_of_file = 26'003; // the last chunk is smaller
  temporary_folder folder_;
  fs::path cache_ = folder_ / "cache";
  std::shared_ptr<prepared_set> set_;
  fs::path file_;
};

TEST_F(chunk_files_of_many, read_the_same_in_any_order) {
  const chunk_file file(file_, about().train, about().row);
  expect_right(file, 0, 1);
  expect_right(file, about().train.size() - 1, 1);
  expect_right(file, 17, 3001);
  // A batch for each of them would take some hundred bytes more a chunk.
  EXPECT_LT(fs::file_size(file_), rows_of_file * 40);
}

TEST_F(chunk_files_of_many, read_the_same_by_several_threads) {
  const chunk_file file(file_, about().train, about().row);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 3; ++i)
    threads.emplace_back([&, i] { expect_right(file, i * 1000, 1 + i); });
  for (std::thread& one : threads)
    one.join();
}

TEST_F(chunk_files_of_many, read_other_ranges_of_their_rows) {
  const chunk_file file(file_, about().train, about().row);
  const uint64_t first = 7;
  const uint64_t rows = rows_of_file - 20;
  std::vector<uint64_t> ids(rows);
  std::vector<int32_t> labels(rows);
  file.read_rows(first, rows,
                 {.labels = labels.data(), .sample_ids = ids.data()});
  for (uint64_t i = 0; i < rows; ++i)
    ASSERT_EQ(ids[i], first + i);
  const chunk_ptr one = file.read(chunk_id(3000));
  EXPECT_EQ(labels[file.first_row(chunk_id(3000)) - first], one->labels[0]);
  EXPECT_THROW(file.read_rows(rows_of_file, 1, {.labels = labels.data()}),
               ballast_error);
}

/// The same batches without a word on how many rows each has, as files were
/// written before sets shared them.
static void rewrite_as_before(const fs::path& path, const char* chunks) {
  const auto in = arrow::io::ReadableFile::Open(path.string()).ValueOrDie();
  const auto reader = arrow::ipc::RecordBatchFileReader::Open(in).ValueOrDie();
  const std::string made = path.string() + ".new";
  const auto out = arrow::io::FileOutputStream::Open(made).ValueOrDie();
  auto how = arrow::ipc::IpcWriteOptions::Defaults();
  how.alignment = 64;
  const auto schema = reader->schema()->WithMetadata(arrow::key_value_metadata(
      {"ballast.chunks_in_batch"}, {std::string(chunks)}));
  const auto writer = arrow::ipc::MakeFileWriter(out, schema, how).ValueOrDie();
  for (int i = 0; i < reader->num_record_batches(); ++i)
    ASSERT_TRUE(
        writer->WriteRecordBatch(*reader->ReadRecordBatch(i).ValueOrDie())
            .ok());
  ASSERT_TRUE(writer->Close().ok());
  ASSERT_TRUE(out->Close().ok());
  fs::rename(made, path);
}

TEST_F(chunk_files_of_many, read_the_same_of_files_of_earlier_builds) {
  const auto in = arrow::io::ReadableFile::Open(file_.string()).ValueOrDie();
  const auto rows_of_first =
      uint32_t(arrow::ipc::RecordBatchFileReader::Open(in)
                   .ValueOrDie()
                   ->ReadRecordBatch(0)
                   .ValueOrDie()
                   ->num_rows());
  const uint32_t chunks = rows_of_first / about().train[0].rows;
  ASSERT_GT(chunks, 1U);
  rewrite_as_before(file_, std::to_string(chunks).c_str());
  const chunk_file file(file_, about().train, about().row);
  EXPECT_FALSE(file.tells_its_batches());
  expect_right(file, 17, 3001);
}

TEST_F(chunk_files_of_many, name_what_does_not_fit_to_the_manifest) {
  std::vector<ledger::chunk_info> fewer = about().train;
  fewer.resize(10);
  EXPECT_THAT(why_not(fewer), HasSubstr("its manifest has 10"));
  std::vector<ledger::chunk_info> longer = about().train;
  longer[3].rows = 1'000'000'000;
  EXPECT_THAT(why_not(longer),
              HasSubstr("its manifest has " + std::to_string(longer.size()) +
                        " chunks"));
  std::vector<ledger::chunk_info> other = about().train;
  other[5000].checksum = "0123456789abcdef";
  EXPECT_THAT(why_not(other), HasSubstr("chunk 5000 is damaged"));
}

} // namespace
} // namespace ballast::data
