/// Between Arrow's readers and those of a record stream: dictionaries, views
/// and run lengths become plain values, columns take the order in which they
/// were chosen, and large batches are cut. Includes Arrow; for source files of
/// data/ only.
///
/// No state but the batch that is being cut, and counts; one thread. Errors:
/// Arrow's.
#pragma once

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace ballast::data {

/// Of a batch that a stream hands out, unless a single row is larger.
constexpr int64_t piece_bytes_max = 64 << 20;

/// With the values instead of dictionaries and run lengths, nested ones too:
/// batches number their values differently. Text has one type, and so have
/// bytes: some of Arrow's functions lack views, and pandas 3 writes
/// large_string where a CSV file has string.
std::shared_ptr<arrow::DataType>
plain_type(const std::shared_ptr<arrow::DataType>& type);
std::shared_ptr<arrow::Schema>
plain_schema(const std::shared_ptr<arrow::Schema>& schema);

/// The columns that a stream was told, and those that its reader reads for
/// them: each once, in the file's order.
class chosen_columns {
public:
  /// All `count` of them.
  explicit chosen_columns(int count);
  /// These; a programming error throws std::out_of_range.
  chosen_columns(int count, const std::vector<int>& wanted);

  /// Never empty unless the file has no column: Arrow takes an empty choice for
  /// all of them.
  const std::vector<int>& to_read() const { return read_; }
  bool all() const { return all_; }
  /// Of what a reader returned for to_read(): the columns as they were wanted.
  std::shared_ptr<arrow::RecordBatch>
  pick(const std::shared_ptr<arrow::RecordBatch>& batch) const;
  /// The same, of a batch that has every column of the file.
  std::shared_ptr<arrow::RecordBatch>
  pick_of_all(const std::shared_ptr<arrow::RecordBatch>& batch) const;

private:
  std::vector<int> read_;
  std::vector<int> order_; // indices into read_
  bool all_ = true;
};

/// Batches, piece by piece; counts their rows.
class batch_pieces {
public:
  explicit batch_pieces(int64_t bytes_max = piece_bytes_max)
      : bytes_max_(bytes_max) {}

  /// The next piece, of plain values, never an empty one. `read` gives the next
  /// batch where one is needed; null, as this then: there is none.
  template <class Read>
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next(Read read) {
    for (;;) {
      auto out = cut();
      if (!out.ok() || *out != nullptr)
        return out;
      std::shared_ptr<arrow::RecordBatch> batch = read();
      if (batch == nullptr)
        return nullptr;
      put(std::move(batch));
    }
  }
  /// Before the first one of the piece that came last.
  int64_t rows_before() const { return before_; }
  /// Up to and with the piece that came last.
  int64_t rows() const { return rows_; }

private:
  void put(std::shared_ptr<arrow::RecordBatch> batch);
  /// Null once all rows of the batch are out.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> cut();

  int64_t bytes_max_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t at_ = 0;
  int64_t rows_at_once_ = 0; // as many as dictionaries allow
  std::shared_ptr<arrow::RecordBatch> plain_;
  int64_t plain_at_ = 0;
  int64_t before_ = 0;
  int64_t rows_ = 0;
};

} // namespace ballast::data
