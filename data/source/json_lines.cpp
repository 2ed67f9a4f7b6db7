#include "data/source/json_lines.hpp"

#include "runtime/base/printable.hpp"

#include <array>
#include <functional>

namespace ballast::data {

namespace {

constexpr std::string_view json_blanks = " \t\r";

/// The position behind the string that begins at `at`; npos if it is not
/// closed.
size_t after_json_string(std::string_view line, size_t at) {
  for (++at;; ++at) {
    at = line.find_first_of("\"\\", at);
    if (at == std::string_view::npos || line[at] == '"')
      return at == std::string_view::npos ? at : at + 1;
    if (++at >= line.size())
      return std::string_view::npos;
  }
}

json_line_fault unfinished_line() {
  return {"the object is not closed in its line; write each object into one "
          "line",
          true};
}

} // namespace

bool is_blank_line(std::string_view line) {
  return line.find_first_not_of(json_blanks) == std::string_view::npos;
}

json_line_fault check_json_line(std::string_view line) {
  if (line.find('\0') != std::string_view::npos)
    return {"has a NUL byte; the file is damaged, or is no text", false};
  if (!is_utf8(line))
    return {"is no valid UTF-8; convert the file to UTF-8", false};
  size_t at = line.find_first_not_of(json_blanks);
  if (line[at] != '{')
    return {line[at] == '['
                ? "begins with [; expected one JSON object {...} in each line, "
                  "not an array"
                : "expected one JSON object {...} in each line",
            false};
  size_t depth = 0;
  for (;;) {
    at = line.find_first_of("\"{}[]", at);
    if (at == std::string_view::npos)
      return unfinished_line();
    if (line[at] == '"') {
      at = after_json_string(line, at);
      if (at == std::string_view::npos)
        return unfinished_line();
      continue;
    }
    if (line[at] == '{' || line[at] == '[') {
      if (++depth > json_depth_max)
        return {"nests deeper than " + std::to_string(json_depth_max) +
                    " levels",
                false};
    } else if (--depth == 0) {
      break;
    }
    ++at;
  }
  if (!is_blank_line(line.substr(at + 1)))
    return {"something follows the object; expected one JSON object in each "
            "line",
            false};
  return {};
}

void json_column_count::add(std::string_view line) {
  // The path to the object or list at each depth, and its last key.
  std::array<uint64_t, json_depth_max + 2> path{};
  std::array<uint64_t, json_depth_max + 2> key{};
  size_t depth = 0;
  for (size_t at = 0;;) {
    at = line.find_first_of("\"{}[]", at);
    if (at == std::string_view::npos)
      return;
    if (line[at] == '"') {
      const size_t end = after_json_string(line, at);
      const size_t next = line.find_first_not_of(json_blanks, end);
      if (next != std::string_view::npos && line[next] == ':') {
        key[depth] = path[depth] * 31 +
                     std::hash<std::string_view>{}(line.substr(at, end - at));
        seen_.insert(key[depth]);
      }
      at = end;
      continue;
    }
    if (line[at] == '{' || line[at] == '[') {
      ++depth;
      path[depth] = key[depth - 1] * 31 + uint64_t(line[at]);
      key[depth] = path[depth];
    } else {
      --depth;
    }
    ++at;
  }
}

} // namespace ballast::data
