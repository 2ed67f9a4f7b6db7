#include "data/profile/profile_words.hpp"

#include "runtime/base/counted.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace ballast::data {

namespace {

constexpr size_t words_told = 5;
constexpr size_t pairs_told = 10;
constexpr double told_correlation = 0.5;

std::string number_text(double value) {
  std::array<char, 32> out{};
  const int length = std::snprintf(out.data(), out.size(), "%.6g", value);
  return {out.data(), size_t(length)};
}

std::string percent(double part, double of) {
  std::array<char, 32> out{};
  const double share = of == 0 ? 0 : 100 * part / of;
  const int length =
      std::snprintf(out.data(), out.size(),
                    share > 0 && share < 0.1 ? "%.2g %%" : "%.1f %%", share);
  return {out.data(), size_t(length)};
}

/// Columns as wide as their widest cell; the first to the left.
std::string aligned(const std::vector<std::vector<std::string>>& lines) {
  std::vector<size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], line[i].size());
  }
  std::string out;
  for (const auto& line : lines) {
    std::string text = " ";
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string room(widths[i] - line[i].size(), ' ');
      text += i == 0 ? " " + line[i] + room : "  " + room + line[i];
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }
  return out;
}

std::string distinct_text(const column_profile& of) {
  return of.kind == profiled_kind::other ? ""
                                         : number_text(std::round(of.distinct));
}

std::vector<std::string> numbers_line(const column_profile& of) {
  std::vector<std::string> out{printable(of.name), of.type,
                               percent(double(of.missing), double(of.rows)),
                               distinct_text(of)};
  if (of.kind == profiled_kind::words || of.kind == profiled_kind::other ||
      of.numbers.spread.count == 0)
    return out;
  const counted_values ranked = of.numbers.ranked();
  for (const double part : {0.0, 0.25, 0.5, 0.75, 1.0})
    out.push_back(value_text(of, ranked.quantile(part)));
  if (of.kind == profiled_kind::times)
    return out;
  const outliers far = outliers_of(of.numbers);
  out.push_back(number_text(of.numbers.spread.mean));
  out.push_back(number_text(of.numbers.spread.deviation()));
  out.push_back(percent(double(of.numbers.zeros), double(of.rows)));
  out.push_back(percent(double(far.below + far.above), double(of.rows)));
  return out;
}

std::string words_line(const column_profile& of) {
  std::string out = "  " + printable(of.name) + ": ";
  const auto& words = of.words.words;
  for (size_t i = 0; i < std::min(words_told, words.size()); ++i)
    out += (i == 0 ? "" : ", ") + printable(words[i].first) + " " +
           percent(double(words[i].second), double(of.rows));
  if (words.size() > words_told)
    out += ", ...";
  return out + "\n";
}

} // namespace

std::string value_text(const column_profile& of, double value) {
  if (of.kind != profiled_kind::times)
    return number_text(value);
  using namespace std::chrono;
  double seconds_of = 1;
  if (of.type.starts_with("date32"))
    seconds_of = 86400;
  else if (of.type.find("[ms") != std::string::npos)
    seconds_of = 1e-3;
  else if (of.type.find("[us") != std::string::npos)
    seconds_of = 1e-6;
  else if (of.type.find("[ns") != std::string::npos)
    seconds_of = 1e-9;
  // Beyond these years a date is none.
  constexpr double most = 86400.0 * 366 * 9000;
  const double all = value * seconds_of;
  if (std::abs(all) > most)
    return number_text(value);
  const sys_seconds at{seconds(int64_t(std::floor(all)))};
  const auto day = floor<days>(at);
  const year_month_day date(day);
  const hh_mm_ss time(at - day);
  std::array<char, 64> out{};
  const int length =
      of.type.starts_with("date")
          ? std::snprintf(out.data(), out.size(), "%04d-%02u-%02u",
                          int(date.year()), unsigned(date.month()),
                          unsigned(date.day()))
          : std::snprintf(
                out.data(), out.size(), "%04d-%02u-%02uT%02d:%02d:%02d",
                int(date.year()), unsigned(date.month()), unsigned(date.day()),
                int(time.hours().count()), int(time.minutes().count()),
                int(time.seconds().count()));
  return {out.data(), size_t(length)};
}

std::string describe(const table_profile& of) {
  std::string out = printable(of.source) + ": " + counted(of.rows, "row") +
                    ", " + counted(of.columns.size(), "column");
  if (of.repeated_rows)
    out += ", " + counted(*of.repeated_rows, "repeated row");
  out += "\n";
  std::vector<std::vector<std::string>> lines{
      {"column", "type", "missing", "different", "least", "25 %", "median",
       "75 %", "most", "mean", "deviation", "zero", "outliers"}};
  for (const column_profile& one : of.columns)
    lines.push_back(numbers_line(one));
  out += aligned(lines);
  bool any = false;
  for (const column_profile& one : of.columns)
    if (!one.words.words.empty()) {
      out += (any ? "" : "most frequent\n") + words_line(one);
      any = true;
    }
  std::vector<correlated_pair> strong;
  for (const correlated_pair& one : of.correlations)
    if (std::abs(one.r) >= told_correlation)
      strong.push_back(one);
  std::stable_sort(strong.begin(), strong.end(),
                   [](const auto& a, const auto& b) {
                     return std::abs(a.r) > std::abs(b.r);
                   });
  if (!strong.empty())
    out += "correlated\n";
  for (size_t i = 0; i < std::min(pairs_told, strong.size()); ++i)
    out += "  " + printable(of.columns[strong[i].a].name) + ", " +
           printable(of.columns[strong[i].b].name) + ": " +
           number_text(std::round(strong[i].r * 1000) / 1000) + "\n";
  return out;
}

std::string describe(const table_drift& of) {
  std::string out = "drift from " + printable(of.before) + " to " +
                    printable(of.after) + "\n";
  std::vector<std::vector<std::string>> lines{
      {"column", "drift", "index", "distance", "missing before", "after"}};
  for (const column_drift& one : of.columns)
    lines.push_back({printable(one.name), to_string(one.size),
                     one.stability ? number_text(*one.stability) : "",
                     one.distance ? number_text(*one.distance) : "",
                     percent(one.missing_before, 1),
                     percent(one.missing_after, 1)});
  out += aligned(lines);
  for (const column_drift& one : of.columns) {
    if (!one.note.empty())
      out += "  " + printable(one.name) + ": " + one.note + "\n";
    if (one.new_words.empty())
      continue;
    out += "  " + printable(one.name) + ": " +
           counted(one.new_word_rows, "row") + " with what was not there: ";
    for (size_t i = 0; i < one.new_words.size(); ++i)
      out += (i == 0 ? "" : ", ") + printable(one.new_words[i]);
    out += "\n";
  }
  for (const std::string& name : of.gone)
    out += "  " + printable(name) + ": is gone\n";
  for (const std::string& name : of.fresh)
    out += "  " + printable(name) + ": is new\n";
  return out;
}

} // namespace ballast::data
