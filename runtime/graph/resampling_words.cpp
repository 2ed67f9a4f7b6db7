// How a method of resampling and its options are read, and described.
#include "runtime/graph/resampling_methods.hpp"

#include "runtime/base/nearest_word.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace ballast::graph {

namespace {

std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& one : words)
    out += (out.empty() ? "" : ", ") + one;
  return out;
}

std::string did_you_mean(std::string_view word,
                         const std::vector<std::string>& known) {
  const std::string near = nearest_word(word, known);
  return near.empty() ? "" : "; did you mean " + near + "?";
}

std::string number_text(double value) {
  char out[32];
  std::snprintf(out, sizeof(out), "%.15g", value);
  return out;
}

std::string range_of(const option& one) {
  const std::string what = std::holds_alternative<uint64_t>(one.usual)
                               ? "a whole number"
                               : "a number";
  return what + " from " + number_text(one.low) + " to " +
         number_text(one.high);
}

/// What was expected; empty: `out` is its value.
std::string read_value(const option& one, const std::string& said,
                       option_value& out) {
  const char* end = said.data() + said.size();
  if (std::holds_alternative<bool>(one.usual)) {
    out = said == "true";
    return said == "true" || said == "false" ? "" : "true or false";
  }
  if (std::holds_alternative<std::string>(one.usual)) {
    out = said;
    if (one.words.empty() ||
        std::ranges::find(one.words, said) != one.words.end())
      return "";
    return listed(one.words);
  }
  double value = 0;
  const auto read = std::from_chars(said.data(), end, value);
  const bool whole = std::holds_alternative<uint64_t>(one.usual);
  if (read.ec != std::errc() || read.ptr != end || !(value >= one.low) ||
      !(value <= one.high) || (whole && value != std::floor(value)))
    return range_of(one);
  if (whole)
    out = uint64_t(value);
  else
    out = value;
  return "";
}

failure usage(std::string message, std::string pointer) {
  return {errc::usage, std::move(message), std::move(pointer)};
}

failure read_option(const resampling_about& method, const std::string& said,
                    resampling_order& out) {
  const std::string name = to_string(method.what);
  const size_t equals = said.find('=');
  if (equals == std::string::npos)
    return usage("expected NAME=VALUE, such as k_neighbors=5, found " +
                     printable(said),
                 "/options");
  const std::string key = said.substr(0, equals);
  std::vector<std::string> known;
  for (const option& one : method.options) {
    known.push_back(one.name);
    if (one.name != key)
      continue;
    const std::string expected =
        read_value(one, said.substr(equals + 1), out.options[key]);
    if (expected.empty())
      return {};
    return usage("expected " + expected + ", found " +
                     printable(said.substr(equals + 1)),
                 "/options/" + key);
  }
  return usage(name + " has no option '" + printable(key) + "'; it has " +
                   listed(known) + did_you_mean(key, known),
               "/options");
}

std::string usual_text(const option_value& value) {
  if (const auto* yes = std::get_if<bool>(&value))
    return *yes ? "true" : "false";
  if (const auto* whole = std::get_if<uint64_t>(&value))
    return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&value))
    return number_text(*number);
  return std::get<std::string>(value);
}

} // namespace

resampling_result parse_resampling(std::string_view method,
                                   const std::vector<std::string>& options) {
  const std::optional<resampling> what = parse_word<resampling>(method);
  if (!what) {
    std::vector<std::string> known(words_of<resampling>.begin(),
                                   words_of<resampling>.end());
    return {{},
            usage("there is no '" + printable(std::string(method)) +
                      "'; known are " + listed(known) +
                      did_you_mean(method, known),
                  "/method")};
  }
  resampling_result out;
  out.value.what = *what;
  const resampling_about& known = about(*what);
  for (const option& one : known.options)
    out.value.options[one.name] = one.usual;
  for (const std::string& said : options)
    if ((out.mistake = read_option(known, said, out.value)))
      break;
  return out;
}

std::string resampling_reference() {
  std::string out = "| method | kind | what it does |\n|---|---|---|\n";
  for (const resampling_about& one : resampling_catalogue())
    out += "| `" + to_string(one.what) + "` | " + to_string(one.kind) + " | " +
           one.doc + " |\n";
  out += "\n| option | of | usual | meaning |\n|---|---|---|---|\n";
  std::vector<std::string> rows;
  for (const resampling_about& one : resampling_catalogue())
    for (const option& had : one.options) {
      const std::string end =
          " | `" + usual_text(had.usual) + "` | " + had.doc + " |\n";
      const std::string begin = "| `" + had.name + "` | ";
      const auto same = std::ranges::find_if(rows, [&](const std::string& row) {
        return row.starts_with(begin) && row.ends_with(end);
      });
      if (same != rows.end())
        same->insert(same->size() - end.size(),
                     ", `" + to_string(one.what) + "`");
      else
        rows.push_back(begin + "`" + to_string(one.what) + "`" + end);
    }
  for (const std::string& row : rows)
    out += row;
  return out;
}

} // namespace ballast::graph
