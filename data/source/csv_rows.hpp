/// The rows of one block of a CSV file as columns. Blocks are parsed apart from
/// each other, on any thread, by a quick parser (csv_quick.hpp) that knows
/// plain cells only; whatever it does not know goes through the careful one
/// here, which also says what is wrong and where. Includes Arrow; for source
/// files of data/ only. Errors: ballast_error{invalid_data}.
#pragma once

#include "data/source/cell_type.hpp"
#include "data/source/csv_records.hpp"
#include "data/source/csv_text.hpp"
#include "data/source/record_stream.hpp"
#include "store/work_watch.hpp"

#include <arrow/type_fwd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ballast::data {

/// A column with text in the first row of the first file, by name. If any of
/// its cells holds a number, it is numeric and the text cell is the mistake.
struct text_cell {
  std::string text;
  std::string file;
  std::string row;
};
using text_cells = std::map<std::string, text_cell>;

/// What is known of a file before its rows are read.
struct csv_format {
  std::string path;
  std::string pointer; // the job's source, for errors
  std::vector<std::string> null_values;
  char separator = ',';
  struct column {
    std::string name;
    cell_type type = {};
  };
  std::vector<column> columns;
  std::vector<int> chosen;
  /// Of a bad row the reader is told; else it is an error.
  bool tolerant = false;
  /// No cell of these may be a number.
  std::vector<std::pair<size_t, const text_cell*>> watched;

  /// Without blanks around it; empty if it is missing.
  std::string_view value_of(std::string_view cell) const;
  /// The same of a quoted cell, in which blanks are text like any other.
  std::string_view quoted_value_of(std::string_view cell, column_type is) const;
  std::shared_ptr<arrow::Field> field(int column) const;
};

/// How much of the file comes before a block.
struct csv_place {
  uint64_t rows = 0;
  uint64_t lines = 0;
};

/// "row 3 (line 4)".
std::string row_text(uint64_t row, uint64_t line);

/// Reads text record by record and refuses what is no row; or, as the format
/// says, goes on behind it.
class csv_cursor {
public:
  /// Both must outlive this.
  csv_cursor(const csv_format& how, std::string_view text, csv_place before)
      : how_(how), text_(text), records_(text, how.separator),
        row_(before.rows), lines_before_(before.lines) {}

  /// The next row; false at the end.
  bool next();
  /// Why the last record is no row; empty: it is one. Its fields are empty.
  const std::string& fault() const { return fault_; }
  std::string_view text() const { return records_.text(); }
  /// Valid until the next call, unless it is_copy().
  const std::vector<std::string_view>& fields() const { return fields_; }
  /// Of a cell with doubled quotes only the record has the text.
  bool is_copy(std::string_view cell) const {
    return cell.data() < text_.data() ||
           cell.data() > text_.data() + text_.size();
  }
  /// An unquoted one stands behind a separator or a line end.
  bool is_quoted(std::string_view cell) const {
    return is_copy(cell) ||
           (cell.data() > text_.data() && cell.data()[-1] == '"');
  }
  uint64_t row() const { return row_; }
  uint64_t line() const { return lines_before_ + records_.line(); }
  std::string here() const;
  /// That no number is in a column of text that is left out.
  void check_texts() const;

private:
  [[noreturn]] void refuse(const std::string& why) const;
  [[noreturn]] void refuse_text(size_t column, const text_cell& first) const;

  const csv_format& how_;
  const std::string_view text_;
  csv_records records_;
  uint64_t row_;
  const uint64_t lines_before_;
  std::vector<std::string_view> fields_;
  std::string fault_;
};

/// A block and what is in it.
struct csv_rows {
  csv_block from;
  std::shared_ptr<arrow::RecordBatch> batch; // null: no row, or bad
  uint64_t rows = 0;
  uint64_t lines = 0;            // line ends
  bool bad = false;              // parse_carefully() says what is wrong
  std::vector<bad_row> bad_rows; // or these are, in order
};

/// Any thread; throws no ballast_error{invalid_data}.
csv_rows parse_block(const csv_format& how, csv_block block);

/// The same rows; throws what is wrong with them, or says it in `bad`.
std::shared_ptr<arrow::RecordBatch>
parse_carefully(const csv_format& how, std::string_view text, csv_place before,
                std::vector<bad_row>* bad = nullptr);

} // namespace ballast::data
