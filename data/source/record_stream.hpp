/// The rows of one file, or of one answer of a database, as Arrow record
/// batches: the seam between whatever stores rows and everything that is done
/// with them. Includes Arrow; for source files of data/ only.
///
/// A stream is opened, tells its schema, is told which columns are wanted, and
/// is then read once, in order. One owner, one thread. Every error is a
/// ballast_error{invalid_data} (or unreachable, or stopped) that names the
/// file, and the row and column where there are any.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

class record_stream {
public:
  virtual ~record_stream() = default;

  /// All columns, with their types: fixed before the first row is read.
  virtual std::shared_ptr<arrow::Schema> schema() = 0;
  /// Only these columns, by their index in schema(), in this order; before the
  /// first next(). Without a call: all.
  virtual void choose(std::vector<int> columns) = 0;
  /// The next rows: at most some 64 MiB of them, never none. Null at the end.
  virtual std::shared_ptr<arrow::RecordBatch> next() = 0;
  /// Row `row` of the batch that came last, as a user finds it:
  /// "people.csv: row 12 (line 14)", counted from 1.
  virtual std::string place_of(int64_t row) const = 0;
};

} // namespace ballast::data
