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
constexpr size_t word_characters = 40;
constexpr size_t type_characters = 40;
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
  std::vector<std::string> out{
      printable(of.name), printable(of.type, type_characters),
      percent(double(of.missing), double(of.rows)), distinct_text(of)};
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

/// "36.1 %", or what it lies between.
std::string word_share(const column_profile& of, const counted_word& one) {
  const auto rows = double(of.rows);
  std::string least = percent(double(one.rows), rows);
  if (of.words.counts.is_exact())
    return least;
  const std::string most =
      percent(double(one.rows + of.words.counts.error()), rows);
  return least == most ? "about " + least : least + " to " + most;
}

std::string words_line(const column_profile& of) {
  const word_counts& counts = of.words.counts;
  std::string out = "  " + printable(of.name) + ": ";
  const auto words = counts.ranked();
  for (size_t i = 0; i < std::min(words_told, words.size()); ++i)
    out += (i == 0 ? "" : ", ") + printable(words[i]->word, word_characters) +
           (words[i]->word.size() < words[i]->bytes &&
                    count_characters(words[i]->word) <= word_characters
                ? "..."
                : "") +
           " " + word_share(of, *words[i]);
  if (words.size() > words_told)
    out += ", ...";
  if (!counts.is_exact())
    out += (words.empty() ? "none" : "; none of the others") +
           std::string(" is in more than ") +
           percent(double(counts.error()), double(of.rows)) +
           " of the rows (estimated: more than " +
           std::to_string(word_counts::frequent_max) + " are different)";
  return out + "\n";
}

/// What the table has no room for.
std::string notes_of(const table_profile& of) {
  std::string infinite;
  std::string unknown;
  for (const column_profile& one : of.columns) {
    if (one.numbers.infinite > 0)
      infinite += "  " + printable(one.name) + ": " +
                  percent(double(one.numbers.infinite), double(one.rows)) +
                  " infinite; the figures are of the others\n";
    if (one.kind == profiled_kind::other)
      unknown += (unknown.empty() ? "" : ", ") + printable(one.name);
  }
  if (!infinite.empty())
    infinite = "infinite\n" + infinite;
  if (!unknown.empty())
    unknown = "not looked into, but for what is missing: " + unknown + "\n";
  return infinite + unknown;
}

std::string correlated_lines(const table_profile& of) {
  std::vector<correlated_pair> strong;
  for (const correlated_pair& one : of.correlations)
    if (std::abs(one.r) >= told_correlation)
      strong.push_back(one);
  std::stable_sort(strong.begin(), strong.end(),
                   [](const auto& a, const auto& b) {
                     return std::abs(a.r) > std::abs(b.r);
                   });
  const std::string limit = uncorrelated_note(of);
  if (strong.empty() && limit.empty())
    return "";
  std::string out = "correlated" + (limit.empty() ? "" : ": " + limit) + "\n";
  for (size_t i = 0; i < std::min(pairs_told, strong.size()); ++i)
    out += "  " + printable(of.columns[strong[i].a].name) + ", " +
           printable(of.columns[strong[i].b].name) + ": " +
           number_text(std::round(strong[i].r * 1000) / 1000) + "\n";
  if (strong.size() > pairs_told)
    out += "  and " + counted(strong.size() - pairs_told, "other pair") +
           " beyond " + number_text(told_correlation) + "\n";
  return out;
}

} // namespace

std::string uncorrelated_note(const table_profile& of) {
  if (of.uncorrelated.empty())
    return "";
  const std::string first = printable(of.columns[of.uncorrelated[0]].name);
  return "only the first " + std::to_string(of.correlated_columns) +
         " of the " +
         std::to_string(of.correlated_columns + of.uncorrelated.size()) +
         " columns of numbers, not " + first +
         (of.uncorrelated.size() > 1 ? " and those behind it" : "");
}

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
    if (one.kind == profiled_kind::words && one.present() > 0) {
      out += (any ? "" : "most frequent\n") + words_line(one);
      any = true;
    }
  return out + notes_of(of) + correlated_lines(of);
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
    if (one.estimated)
      out += "  " + printable(one.name) + ": estimated: more than " +
             std::to_string(word_counts::frequent_max) +
             " words are different\n";
    if (!one.note.empty())
      out += "  " + printable(one.name) + ": " + printable(one.note) + "\n";
    if (one.new_words.empty())
      continue;
    out += "  " + printable(one.name) + ": " + (one.estimated ? "about " : "") +
           counted(one.new_word_rows, "row") + " with what was not there" +
           (one.estimated ? ", or hardly: " : ": ");
    for (size_t i = 0; i < one.new_words.size(); ++i)
      out +=
          (i == 0 ? "" : ", ") + printable(one.new_words[i], word_characters);
    out += "\n";
  }
  for (const std::string& name : of.gone)
    out += "  " + printable(name) + ": is gone\n";
  for (const std::string& name : of.fresh)
    out += "  " + printable(name) + ": is new\n";
  return out;
}

} // namespace ballast::data
