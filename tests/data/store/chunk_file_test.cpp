// Goal: chunks read the same however many share a batch of their file, in any
// order, by several threads, and a damaged file is named. Method: sets of a few
// and of many small chunks.
#include "data/store/chunk_file.hpp"

#include "data/prepared/prepared_set.hpp"
#include "runtime/base/errors.hpp"
#include "tests/data/source_builders.hpp"

#include <algorithm>
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
    set_ = prepare(job_of(synthetic_source(rows, 2, 4), 4), cache_);
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

  static constexpr uint64_t rows = 26'003; // the last chunk is smaller
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
  EXPECT_LT(fs::file_size(file_), rows * 40);
}

TEST_F(chunk_files_of_many, read_the_same_by_several_threads) {
  const chunk_file file(file_, about().train, about().row);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 3; ++i)
    threads.emplace_back([&, i] { expect_right(file, i * 1000, 1 + i); });
  for (std::thread& one : threads)
    one.join();
}

TEST_F(chunk_files_of_many, name_what_does_not_fit_to_the_manifest) {
  std::vector<ledger::chunk_info> fewer = about().train;
  fewer.resize(10);
  EXPECT_THAT(why_not(fewer), HasSubstr("its manifest has 10"));
  std::vector<ledger::chunk_info> longer = about().train;
  longer[3].rows = 1'000'000'000;
  EXPECT_THAT(why_not(longer), HasSubstr("chunk 3 is not among them"));
  std::vector<ledger::chunk_info> other = about().train;
  other[5000].checksum = "0123456789abcdef";
  EXPECT_THAT(why_not(other), HasSubstr("chunk 5000 is damaged"));
}

} // namespace
} // namespace ballast::data
