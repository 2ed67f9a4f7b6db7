#include "data/source/json_lines.hpp"

#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>

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

uint64_t json_path_into(uint64_t path, char bracket) {
  return path * 31 + uint64_t(bracket);
}

uint64_t json_path_to(uint64_t path, std::string_view quoted_name) {
  return path * 31 + std::hash<std::string_view>{}(quoted_name);
}

void each_json_key(std::string_view line,
                   const std::function<void(const json_key&)>& see) {
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
        const std::string_view name = line.substr(at, end - at);
        key[depth] = json_path_to(path[depth], name);
        see({key[depth], depth, name,
             std::min(line.find_first_not_of(json_blanks, next + 1),
                      line.size())});
      }
      at = end;
      continue;
    }
    if (line[at] == '{' || line[at] == '[') {
      // Of a bad line that is to be left out, the keys so far are enough.
      if (++depth > json_depth_max)
        return;
      path[depth] = json_path_into(key[depth - 1], line[at]);
      key[depth] = path[depth];
    } else if (depth-- == 0) {
      return;
    }
    ++at;
  }
}

std::string json_unquoted(std::string_view quoted) {
  if (quoted.size() >= 2 && quoted.find('\\') == std::string_view::npos)
    return std::string(quoted.substr(1, quoted.size() - 2));
  const auto read = nlohmann::json::parse(quoted, nullptr, false);
  return read.is_string() ? read.get<std::string>() : std::string(quoted);
}

namespace {

/// The end of the value that begins at `at`.
size_t after_json_value(std::string_view line, size_t at) {
  size_t depth = 0;
  while (at < line.size()) {
    const char one = line[at];
    if (depth == 0 && (one == ',' || one == '}' || one == ']' ||
                       json_blanks.find(one) != std::string_view::npos))
      return at;
    if (one == '"') {
      at = std::min(after_json_string(line, at), line.size());
      continue;
    }
    if (one == '{' || one == '[')
      ++depth;
    else if (one == '}' || one == ']')
      --depth;
    ++at;
  }
  return at;
}

} // namespace

std::string with_texts(std::string_view line, const json_names& names) {
  std::string out;
  size_t done = 0;
  each_json_key(line, [&](const json_key& key) {
    if (key.depth != 1 || key.value < done || key.value >= line.size() ||
        !names.contains(json_unquoted(key.name)))
      return;
    const size_t end = after_json_value(line, key.value);
    const std::string_view value = line.substr(key.value, end - key.value);
    if (value.empty() || value == "null" || value[0] == '"')
      return;
    out += line.substr(done, key.value - done);
    out += json_text(nlohmann::json(std::string(value)));
    done = end;
  });
  return out + std::string(line.substr(done));
}

void json_column_count::add(std::string_view line) {
  each_json_key(line, [this](const json_key& key) { seen_.insert(key.path); });
}

} // namespace ballast::data
