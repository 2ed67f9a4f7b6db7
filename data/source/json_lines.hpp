/// Looks at a line of JSON before a parser does: whether it holds one object,
/// how deep that nests, and which columns it has. The parser behind it would
/// take two objects in a line for two rows, and would crash on a line of
/// 30,000 brackets or of the word null. Syntax is the parser's business. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
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

/// A key of a line that check_json_line() accepts.
struct json_key {
  uint64_t path = 0;     // a hash: this key within those around it
  size_t depth = 0;      // 1: of the line's object itself
  std::string_view name; // with its quotes, as it is written
  size_t value = 0;      // where its value begins
};
void each_json_key(std::string_view line,
                   const std::function<void(const json_key&)>& see);
/// The steps of a path: into an object or a list, and to a key there.
uint64_t json_path_into(uint64_t path, char bracket);
uint64_t json_path_to(uint64_t path, std::string_view quoted_name);
/// The text of a key or value in quotes; what is no JSON as it is.
std::string json_unquoted(std::string_view quoted);

using json_names = std::set<std::string, std::less<>>;
/// The line with the values of these keys, unless they are null, as texts of
/// what stands there; from where it is no JSON, as it is.
std::string with_texts(std::string_view line, const json_names& names);

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
