/// Which keys of JSON lines are columns, and what is said of one that is not:
/// the types of columns come from the first rows, and a key that comes later
/// must not be lost without a word. Includes Arrow; for source files of data/
/// only. One owner, one thread.
#pragma once

#include "data/source/cell_type.hpp"
#include "data/source/json_lines.hpp"

#include <arrow/type_fwd.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace ballast::data {

/// Which keys must not come later.
enum class later_keys : uint8_t {
  any,     // all may
  numbers, // no column of numbers
  none,
};

class known_json_keys {
public:
  known_json_keys() = default;
  /// `columns`: of the file. `within`: those whose values are read as they
  /// are, so that the keys of nested objects count.
  known_json_keys(const arrow::Schema& columns, const json_names& within);

  /// The columns that keys of this line would be, or be in; one whose value is
  /// null is none.
  std::vector<std::string> unknown_in(std::string_view line,
                                      later_keys may) const;

  bool has(const std::string& column) const { return names_.contains(column); }

private:
  void know(const arrow::DataType& type, uint64_t path);

  std::unordered_set<uint64_t> known_;  // paths
  std::unordered_set<uint64_t> within_; // paths of columns
  json_names names_;
};

/// What the value of a key in this line could be read as; of a nested one text.
/// None: it has none.
std::optional<column_type> type_in(std::string_view line,
                                   const std::string& key);
/// What holds both.
column_type type_for(column_type a, column_type b);

/// Columns in which every value is a number, or one of the texts by which
/// programs write the numbers that JSON lacks, such as "NaN"; both are there.
class nan_columns {
public:
  void see(std::string_view line);
  json_names names() const;

private:
  struct values {
    bool numbers = false, words = false, others = false;
  };
  std::map<std::string, values> seen_;
};
bool is_nan_word(std::string_view text);

/// Of the line's values of these columns, which are read as float64, the first
/// that would not keep its digits: the column and the value.
std::optional<std::pair<std::string, std::string>>
rounded_in(std::string_view line, const json_names& floats);

/// Columns of `known` that are numbers there and not here, or the reverse, are
/// as they are there; all of them if none is here. Null: none is known.
std::shared_ptr<arrow::Schema>
with_kinds_of(const std::shared_ptr<arrow::Schema>& known,
              std::shared_ptr<arrow::Schema> here);

/// Times become the text that they are in the file.
std::shared_ptr<arrow::Schema> without_times(const arrow::Schema& schema);

} // namespace ballast::data
