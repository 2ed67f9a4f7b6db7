/// The rows of one file, or of one answer of a database, as Arrow record
/// batches: the seam between whatever stores rows and everything that is done
/// with them. Includes Arrow; for source files of data/ only.
///
/// A stream is opened, tells its schema, is told which columns are wanted, and
/// is then read once, in order. One owner, one thread. Every error is a
/// ballast_error{invalid_data} (or unreachable, or stopped) that names the
/// file, and the row and column where there are any.
#pragma once

#include "runtime/job/job_words.hpp"

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

/// A row of a batch that the file does not have as its columns promise.
struct bad_row {
  int64_t row = 0;    // of the batch
  std::string column; // empty: the row as a whole
  std::string reason; // as an error says it
  std::string text;   // as it stands in the file, if its cells are not known
};

/// A row as it stands in a text file.
struct written_row {
  std::string text;   // without the end of its last line; empty: unknown
  uint64_t lines = 1; // that it spans: more than one with line ends in quotes
};

class record_stream {
public:
  virtual ~record_stream() = default;

  /// All columns, with their types: fixed before the first row is read.
  virtual std::shared_ptr<arrow::Schema> schema() = 0;
  /// False: the file says that it has none. Else perhaps some. Before choose().
  virtual bool has_rows() { return true; }
  /// Only these columns, by their index in schema(), in this order; before the
  /// first next(). Without a call: all.
  virtual void choose(std::vector<int> columns) = 0;
  /// The next rows: at most some 64 MiB of them, never none. Null at the end.
  virtual std::shared_ptr<arrow::RecordBatch> next() = 0;
  /// Row `row` of the batch that came last, as a user finds it:
  /// "people.csv: row 12 (line 14)", counted from 1.
  virtual std::string place_of(int64_t row) const = 0;
  /// The line of a text file at which it begins, from 1; 0: there are none.
  virtual uint64_t line_of(int64_t /*row*/) const { return 0; }
  /// Row `row` of the batch that came last, for somebody who mends the file.
  virtual written_row as_written(int64_t /*row*/) const { return {}; }
  /// Of the batch that came last, the rows that could not be read, in order,
  /// each once; their values count for nothing. Of a stream that was opened to
  /// go on behind them: of others they are errors of next().
  virtual const std::vector<bad_row>& bad_rows() const {
    static const std::vector<bad_row> none;
    return none;
  }

  /// Of a file whose columns have no types, such as CSV: the column is read as
  /// this from now on; a cell that is not then is an error of next(). Before
  /// choose(). False: the type is what it is, by the file or by the job.
  virtual bool read_as(int /*column*/, column_type /*what*/) { return false; }
  /// Of such a file: no cell that was looked at tells the column's type.
  virtual bool is_silent(int /*column*/) const { return false; }
  /// Of such a file: columns of text that are left out for that. A number in
  /// one of them is an error from now on, because nobody wants such a column
  /// left out. Before choose(). `all`: nothing else is there, so that all rows
  /// are looked at now.
  virtual void leave_out(const std::vector<int>& /*columns*/, bool /*all*/) {}
  /// A cell of the batch that came last as it stands in such a file, valid
  /// until the next call; `chosen` by the order of choose(). Nothing: as the
  /// batch has it.
  virtual std::optional<std::string_view> text_of(int /*chosen*/,
                                                  int64_t /*row*/) const {
    return std::nullopt;
  }
};

} // namespace ballast::data
