/// Splits CSV text into records: quotes as in RFC 4180, line ends of any
/// system, empty lines skipped. Cells are separated by what separates those of
/// the first line: commas, else semicolons, else tabs.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

class csv_records {
public:
  /// `text` must outlive the records.
  explicit csv_records(std::string_view text);
  /// Of text from the middle of a file, whose separator is known.
  csv_records(std::string_view text, char separator) : text_(text) {
    ends_[0] = separator;
  }

  /// The next record's fields, valid until the next call; false at the end.
  bool next(std::vector<std::string_view>& fields);
  /// The line at which the last record begins, from 1.
  uint64_t line() const { return line_; }
  char separator() const { return ends_[0]; }
  /// How much of the text the records so far took.
  size_t at() const { return at_; }
  /// The last record as it stands there.
  std::string_view text() const { return text_.substr(begin_, at_ - begin_); }
  /// The last record was no row: only its first line is taken, so that a quote
  /// too many does not take the rows behind it.
  void take_line();
  /// The last record ended inside quotes: the file is truncated, or a quote is
  /// missing.
  bool broken() const { return broken_; }
  /// A cell of the last record goes on behind its closing quote, which is none
  /// of its fields.
  bool goes_on() const { return goes_on_; }

private:
  std::string_view quoted_field();

  std::string_view text_;
  char ends_[4] = ",\r\n"; // of a cell
  size_t at_ = 0;
  size_t begin_ = 0; // of the last record
  uint64_t line_ = 0;
  uint64_t next_line_ = 1;
  bool broken_ = false;
  bool goes_on_ = false;
  std::deque<std::string> unescaped_; // fields with doubled quotes
};

} // namespace ballast::data
