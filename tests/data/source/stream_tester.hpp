/// What the tests of record streams share: files in memory, all rows of a
/// stream as text, and the words of a refusal.
#pragma once

#include "data/source/positioned_file.hpp"
#include "data/source/record_stream.hpp"
#include "data/source/stream_file.hpp"

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/json/from_string.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

/// A file in memory that counts what is read of it, and fails if it is told to.
class played_file : public positioned_file {
public:
  using positioned_file::ReadAt;
  explicit played_file(std::string content)
      : positioned_file(int64_t(content.size())), content_(std::move(content)) {
  }

  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t bytes,
                                void* out) override {
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Buffer> read,
                          ReadAt(position, bytes));
    std::memcpy(out, read->data(), size_t(read->size()));
    return read->size();
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position,
                                                       int64_t bytes) override {
    if (bytes_read + bytes > fails_after)
      return fails_with;
    ++reads;
    for (int64_t most = largest_read;
         most < bytes && !largest_read.compare_exchange_weak(most, bytes);) {
    }
    std::string part = content_.substr(size_t(position), size_t(bytes));
    bytes_read += int64_t(part.size());
    return arrow::Buffer::FromString(std::move(part));
  }

  std::atomic<int64_t> bytes_read{0};
  std::atomic<int64_t> largest_read{0};
  std::atomic<int> reads{0};
  int64_t fails_after = int64_t{1} << 62;
  arrow::Status fails_with = arrow::Status::IOError("the disk is broken");

private:
  const std::string content_;
};

inline stream_input in_memory(std::string content,
                              const std::string& name = "rows") {
  return {std::make_shared<played_file>(std::move(content)), name};
}

/// One row for each object of the JSON array.
inline std::shared_ptr<arrow::RecordBatch>
batch_of(const std::shared_ptr<arrow::Schema>& schema,
         const std::string& json) {
  const auto rows =
      arrow::json::ArrayFromJSONString(arrow::struct_(schema->fields()), json)
          .ValueOrDie();
  return arrow::RecordBatch::FromStructArray(rows).ValueOrDie();
}

/// `rows` rows: x = 0, 1, ... (int64), t = "a" times `text`.
inline std::shared_ptr<arrow::RecordBatch> large_batch(int64_t rows,
                                                       size_t text) {
  arrow::Int64Builder numbers;
  arrow::StringBuilder texts;
  for (int64_t i = 0; i < rows; ++i) {
    EXPECT_TRUE(numbers.Append(i).ok());
    EXPECT_TRUE(texts.Append(std::string(text, 'a')).ok());
  }
  return arrow::RecordBatch::Make(
      arrow::schema({arrow::field("x", arrow::int64()),
                     arrow::field("t", arrow::utf8())}),
      rows, {numbers.Finish().ValueOrDie(), texts.Finish().ValueOrDie()});
}

/// Every row as text, "1 null abc", with checks of what each stream promises.
inline std::vector<std::string> rows_of(record_stream& stream) {
  std::vector<std::string> out;
  while (const auto batch = stream.next()) {
    EXPECT_GT(batch->num_rows(), 0);
    EXPECT_TRUE(batch->ValidateFull().ok());
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      std::string text;
      for (const auto& column : batch->columns())
        text += (text.empty() ? "" : " ") +
                column->GetScalar(row).ValueOrDie()->ToString();
      out.push_back(text);
    }
  }
  EXPECT_EQ(stream.next(), nullptr);
  return out;
}

/// The refusal of `call`: its one line, with the detail. Empty: none.
template <class Call>
std::string refusal_of(Call call, errc code = errc::invalid_data) {
  try {
    call();
  } catch (const ballast_error& error) {
    EXPECT_EQ(error.what_failed().code, code) << error.what();
    std::string text = error.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_LT(text.size(), 1000U) << text;
    return text;
  }
  ADD_FAILURE() << "was taken";
  return {};
}

inline testing::Matcher<std::string>
has_all(const std::vector<std::string>& parts) {
  std::vector<testing::Matcher<std::string>> each;
  for (const std::string& part : parts)
    each.push_back(testing::HasSubstr(part));
  return testing::AllOfArray(each);
}

} // namespace ballast::data
