/// An error in a source, in two parts. The message names file, row, column and
/// the expected content, and may be shown to everyone who can submit a job; the
/// detail quotes the file, for users who can read it anyway. what() has both.
#pragma once

#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <string>
#include <utility>

namespace ballast::data {

class source_error : public ballast_error {
public:
  source_error(const std::string& message, const std::string& pointer,
               std::string detail)
      : ballast_error(errc::invalid_data, message, pointer),
        detail_(std::move(detail)),
        text_(detail_.empty() ? message : message + " (" + detail_ + ")") {}

  const std::string& detail() const { return detail_; }
  const char* what() const noexcept override { return text_.c_str(); }

private:
  std::string detail_;
  std::string text_;
};

/// The same of one row, which can be left out where the job says so: which
/// column is wrong (empty: the row as a whole), and why.
class row_error : public source_error {
public:
  row_error(const std::string& place, const std::string& column,
            std::string reason, const std::string& pointer,
            std::string detail = {})
      : source_error(place +
                         (column.empty()
                              ? ": "
                              : ", column '" + printable(column) + "': ") +
                         reason,
                     pointer, std::move(detail)),
        column_(column), reason_(std::move(reason)) {}

  const std::string& column() const { return column_; }
  const std::string& reason() const { return reason_; }

private:
  std::string column_;
  std::string reason_;
};

/// A text file without a row, so that nothing is known of its columns. One
/// among several that have rows is passed over.
class no_rows_error : public source_error {
public:
  /// `why`: "p.csv: has no rows after its header".
  no_rows_error(const std::string& why, const std::string& pointer)
      : source_error(why + "; the data set is empty", pointer, {}) {}
};

/// Does the work; the message of a mistake begins with the job's field at
/// fault.
template <class Work>
auto at_field(const std::string& pointer, Work work) {
  try {
    return work();
  } catch (const source_error& e) {
    throw source_error(pointer + ": " + e.what_failed().message, pointer,
                       e.detail());
  } catch (const ballast_error& e) {
    throw ballast_error(e.what_failed().code, pointer + ": " + e.what(),
                        pointer);
  }
}

} // namespace ballast::data
