/// Looks at a line of JSON before a parser does: whether it holds one object,
/// how deep that nests, and which columns it has. The parser behind it would
/// take two objects in a line for two rows, and would crash on a line of
/// 30,000 brackets or of the word null. Syntax is the parser's business. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

namespace ballast::data {

constexpr size_t json_depth_max = 64;

/// What a line is, if it is not one whole object.
struct json_line_fault {
  std::string text;        // why it is refused; empty: it is not
  bool unfinished = false; // it would be one if more followed
};

/// `line` is without its line end and not blank.
json_line_fault check_json_line(std::string_view line);

/// Only blanks; such lines are no rows.
bool is_blank_line(std::string_view line);

/// Counts the columns of lines that check_json_line() accepts, those of nested
/// objects as well: a block of few bytes can claim many columns for many rows.
class json_column_count {
public:
  void add(std::string_view line);
  size_t count() const { return seen_.size(); }

private:
  std::unordered_set<uint64_t> seen_; // hashes of paths
};

} // namespace ballast::data
