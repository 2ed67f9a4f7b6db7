/// Record batches as sets of rows: how large they are, several as one, some
/// rows of one. Includes Arrow; for source files of data/ only.
///
/// Free functions and a meter that looks at a batch it was given; any thread.
/// Errors: those of Arrow, as ballast_error{invalid_data} of the node.
#pragma once

#include "data/operators/operator_context.hpp"

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ballast::data {

/// Most rows of a batch that a blocking operator works on at once.
constexpr int64_t rows_at_once = 16 << 10;
/// Most bytes of one that it hands out, unless a single row is larger.
constexpr int64_t bytes_at_once = 16 << 20;
/// What one batch in memory may have: offsets of texts have 32 bits.
constexpr int64_t batch_bytes_max = int64_t{7} << 28;

using row_indices = std::vector<uint32_t>;

/// The memory that an operator may use; never so little that it cannot work.
int64_t memory_of(const operator_context& context);

/// Of the rows of a batch alone, where it is a part of a larger one.
struct batch_bytes {
  int64_t all = 0;
  int64_t largest = 0; // of its columns: while it is joined, there twice
};
batch_bytes bytes_of_columns(const arrow::RecordBatch& batch);
int64_t bytes_of(const arrow::RecordBatch& batch);

/// One batch with the rows of all, in order; frees their columns on the way.
std::shared_ptr<arrow::RecordBatch>
together(const std::shared_ptr<arrow::Schema>& schema,
         std::vector<std::shared_ptr<arrow::RecordBatch>> batches,
         const operator_context& context);

/// These rows in this order. The batch itself if that is all of them.
std::shared_ptr<arrow::RecordBatch>
taken(const std::shared_ptr<arrow::RecordBatch>& batch,
      std::span<const uint32_t> rows, const operator_context& context);

/// One column more, of numbers.
std::shared_ptr<arrow::RecordBatch>
with_numbers(const std::shared_ptr<arrow::RecordBatch>& batch,
             const std::shared_ptr<arrow::Schema>& schema,
             std::vector<uint64_t> numbers);
/// The schema of that.
std::shared_ptr<arrow::Schema>
with_numbers(const std::shared_ptr<arrow::Schema>& schema,
             const std::string& name);
/// The numbers of such a column.
std::span<const uint64_t> numbers_in(const arrow::RecordBatch& batch,
                                     int column);
/// The first `count` columns.
std::shared_ptr<arrow::RecordBatch>
first_columns(const std::shared_ptr<arrow::RecordBatch>& batch, size_t count);

/// The bytes of single rows, so that a batch of chosen rows has an upper size:
/// exact for numbers and text, the mean for lists and structs.
class row_meter {
public:
  /// Looks at `batch`, which the caller keeps.
  explicit row_meter(const arrow::RecordBatch& batch);
  int64_t bytes_of(uint32_t row) const {
    double bytes = each_;
    for (const text& one : texts_)
      bytes += one.bytes_of(row);
    return int64_t(bytes);
  }
  /// Of every row, where all have as many.
  std::optional<double> bytes_of_each() const {
    return texts_.empty() ? std::optional(each_) : std::nullopt;
  }
  /// How many of these rows, at least one and at most `rows_max`, have so many
  /// bytes.
  size_t that_fit(std::span<const uint32_t> rows, int64_t rows_max,
                  int64_t bytes_max) const;
  /// The same of the rows from `first` on.
  int64_t that_fit_from(int64_t first, int64_t rows_max,
                        int64_t bytes_max) const;

private:
  struct text {
    const int32_t* ends = nullptr;
    const int64_t* long_ends = nullptr;
    double bytes_of(uint32_t row) const {
      return ends != nullptr ? double(ends[row + 1] - ends[row])
                             : double(long_ends[row + 1] - long_ends[row]);
    }
  };
  int64_t rows_ = 0;
  double each_ = 0;
  std::vector<text> texts_;
};

} // namespace ballast::data
