/// What the tests of operators share: streams of rows made up from a seed, all
/// rows of a stream as text, and references that need no operator.
#pragma once

#include "data/operators/operator_context.hpp"
#include "data/source/record_stream.hpp"

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace ballast::data {

/// Batches that are there already, in pieces of a given size.
class batches_stream : public record_stream {
public:
  explicit batches_stream(std::shared_ptr<arrow::RecordBatch> rows,
                          int64_t rows_at_once = 4096)
      : rows_(std::move(rows)), rows_at_once_(rows_at_once) {}

  std::shared_ptr<arrow::Schema> schema() override { return rows_->schema(); }
  void choose(std::vector<int> columns) override {
    rows_ = rows_->SelectColumns(columns).ValueOrDie();
  }
  std::shared_ptr<arrow::RecordBatch> next() override {
    if (before_next)
      before_next(at_);
    if (at_ >= rows_->num_rows())
      return nullptr;
    auto out = rows_->Slice(at_, rows_at_once_);
    at_ += out->num_rows();
    return out;
  }
  std::string place_of(int64_t row) const override {
    return "input: row " + std::to_string(row + 1);
  }

  std::function<void(int64_t rows_so_far)> before_next;

private:
  std::shared_ptr<arrow::RecordBatch> rows_;
  int64_t rows_at_once_;
  int64_t at_ = 0;
};

/// A folder that must be empty at the end.
class spill_folder {
public:
  spill_folder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "spill.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      std::abort();
    path_ = name;
  }
  ~spill_folder() {
    EXPECT_EQ(files(), 0) << "left in " << path_;
    std::filesystem::remove_all(path_);
  }
  spill_folder(const spill_folder&) = delete;
  spill_folder& operator=(const spill_folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int files() const {
    int out = 0;
    for ([[maybe_unused]] const auto& one :
         std::filesystem::directory_iterator(path_))
      ++out;
    return out;
  }
  operator_context context(uint64_t memory_bytes = 256 << 20) const {
    operator_context out;
    out.pointer = "/data/graph/2";
    out.name = "the node";
    out.memory_bytes = memory_bytes;
    out.spill = path_;
    out.seed = 7;
    return out;
  }

private:
  std::filesystem::path path_;
};

/// The rows with an origin of their own: 0, 1, ...
inline std::shared_ptr<arrow::RecordBatch>
with_origin(const std::shared_ptr<arrow::RecordBatch>& rows,
            uint64_t first = 0) {
  arrow::UInt64Builder builder;
  for (int64_t i = 0; i < rows->num_rows(); ++i)
    EXPECT_TRUE(builder.Append(first + uint64_t(i)).ok());
  return rows
      ->AddColumn(rows->num_columns(),
                  arrow::field(origin_column, arrow::uint64(), false),
                  builder.Finish().ValueOrDie())
      .ValueOrDie();
}

/// Rows out of JSON, with an origin.
inline std::shared_ptr<arrow::RecordBatch>
rows_of(const arrow::FieldVector& fields, const std::string& json) {
  const auto rows =
      arrow::json::ArrayFromJSONString(arrow::struct_(fields), json)
          .ValueOrDie();
  return with_origin(arrow::RecordBatch::FromStructArray(rows).ValueOrDie());
}

inline std::unique_ptr<record_stream>
stream_of(const std::shared_ptr<arrow::RecordBatch>& rows,
          int64_t rows_at_once = 4096) {
  return std::make_unique<batches_stream>(rows, rows_at_once);
}

/// All rows of a stream as one batch, each batch of which is checked.
inline std::shared_ptr<arrow::RecordBatch> all_of(record_stream& from) {
  arrow::RecordBatchVector batches;
  std::shared_ptr<arrow::Schema> schema = from.schema();
  while (const auto batch = from.next()) {
    EXPECT_GT(batch->num_rows(), 0);
    EXPECT_TRUE(batch->ValidateFull().ok()) << batch->ValidateFull().ToString();
    schema = batch->schema();
    batches.push_back(batch);
  }
  EXPECT_EQ(from.next(), nullptr) << "after the end";
  const auto table =
      arrow::Table::FromRecordBatches(schema, batches).ValueOrDie();
  return table->CombineChunksToBatch().ValueOrDie();
}

inline std::shared_ptr<arrow::RecordBatch>
all_of(const std::unique_ptr<record_stream>& from) {
  return all_of(*from);
}

/// One line for each row, its cells as Arrow prints them.
inline std::vector<std::string> lines_of(const arrow::RecordBatch& rows) {
  std::vector<std::string> out(size_t(rows.num_rows()));
  for (const auto& column : rows.columns())
    for (int64_t i = 0; i < rows.num_rows(); ++i)
      out[size_t(i)] += (out[size_t(i)].empty() ? "" : " ") +
                        column->GetScalar(i).ValueOrDie()->ToString();
  return out;
}

/// Row by row, NaN equal to NaN, -0.0 not to 0.0: the same bits.
inline bool same_rows(const arrow::RecordBatch& a,
                      const arrow::RecordBatch& b) {
  return a.schema()->Equals(*b.schema()) &&
         a.Equals(b, false,
                  arrow::EqualOptions::Defaults()
                      .nans_equal(true)
                      .signed_zeros_equal(false));
}

} // namespace ballast::data
