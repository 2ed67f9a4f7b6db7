#include "runtime/placement/joint_bins.hpp"

#include "runtime/placement/target_bins.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace ballast::placement {

namespace {

/// The number in a text, NaN included; empty if the text is not a number. A
/// number out of the range of double counts.
std::optional<float> number_in(const std::string& text) {
  const char* begin = text.data();
  const char* const end = begin + text.size();
  if (end - begin > 1 && *begin == '+' && begin[1] != '-')
    ++begin;
  double out = 0;
  const auto [rest, error] = std::from_chars(begin, end, out);
  if (error == std::errc::result_out_of_range)
    out = std::strtod(begin, nullptr);
  else if (error != std::errc{})
    return {};
  if (rest != end)
    return {};
  return float(out);
}

/// The spellings of a missing value in tables of numbers.
bool is_missing(const std::string& text) {
  static const std::set<std::string_view> words = {
      "",     "NA",   "N/A",  "n/a",  "<NA>", "na",
      "null", "NULL", "None", "none", "-"};
  return words.count(text) > 0;
}

/// By cell: the bin of its number; missing cells share a bin of their own.
/// Empty if none of `rows` has a number, or one of them has other text. Other
/// text in rows outside `rows` counts as missing.
std::vector<uint32_t> bins_of_numbers(const kept_column& column,
                                      std::span<const uint64_t> rows) {
  std::vector<std::optional<float>> numbers;
  for (const std::string& text : column.texts)
    numbers.push_back(number_in(text));
  std::vector<float> seen;
  for (uint64_t row : rows) {
    const uint32_t cell = column.cells[row];
    if (!numbers[cell] && !is_missing(column.texts[cell]))
      return {};
    if (numbers[cell] && !std::isnan(*numbers[cell]))
      seen.push_back(*numbers[cell]);
  }
  if (seen.empty())
    return {};
  const std::vector<float> edges = bin_edges(std::move(seen));
  std::vector<uint32_t> out;
  for (const std::optional<float>& number : numbers)
    out.push_back(number && !std::isnan(*number)
                      ? uint32_t(bin_of(*number, edges))
                      : uint32_t(edges.size() + 1));
  return out;
}

/// By cell: the rank of its text among the most frequent ones; all others share
/// a bin.
std::vector<uint32_t> bins_of_texts(const kept_column& column,
                                    std::span<const uint64_t> rows) {
  std::vector<uint64_t> times(column.texts.size());
  for (uint64_t row : rows)
    ++times[column.cells[row]];
  std::vector<uint32_t> order(times.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return times[a] > times[b]; });
  const auto never = uint32_t(std::count(times.begin(), times.end(), 0u));
  const bool all_fit = order.size() - never <= texts_max;
  std::vector<uint32_t> out(times.size());
  for (uint32_t rank = 0; rank < order.size(); ++rank)
    out[order[rank]] = std::min(rank, all_fit ? texts_max : texts_max - 1);
  return out;
}

} // namespace

text_numbers::text_numbers(const std::vector<std::string>& texts) {
  for (uint32_t number = 0; number < texts.size(); ++number)
    numbers_.emplace(texts[number], number);
}

uint32_t text_numbers::of(std::string_view text,
                          std::vector<std::string>& texts) {
  if (const auto found = numbers_.find(text); found != numbers_.end())
    return found->second;
  texts.emplace_back(text);
  return numbers_.emplace(text, uint32_t(texts.size() - 1)).first->second;
}

void append(kept_column& to, const kept_column& more) {
  text_numbers numbers(to.texts);
  std::vector<uint32_t> number_of; // by cell of `more`
  for (const std::string& text : more.texts)
    number_of.push_back(numbers.of(text, to.texts));
  for (uint32_t cell : more.cells)
    to.cells.push_back(number_of[cell]);
}

joint_bins bins_of_columns(std::span<const kept_column> columns,
                           std::span<const uint64_t> rows) {
  std::vector<std::vector<uint32_t>> bins; // by column and cell
  for (const kept_column& column : columns) {
    bins.push_back(bins_of_numbers(column, rows));
    if (bins.back().empty())
      bins.back() = bins_of_texts(column, rows);
  }
  const auto combination = [&](uint64_t row) {
    uint64_t out = 0;
    for (size_t i = 0; i < columns.size(); ++i)
      out = out * (texts_max + 1) + bins[i][columns[i].cells[row]];
    return out;
  };
  std::map<uint64_t, int32_t> numbers;
  for (uint64_t row : rows)
    numbers.try_emplace(combination(row), 0);
  if (numbers.size() > joint_bins_max)
    return {uint32_t(numbers.size()), {}};
  int32_t next = 0;
  for (auto& [values, number] : numbers)
    number = next++;
  joint_bins out;
  out.count = uint32_t(next);
  for (uint64_t row = 0; row < columns[0].cells.size(); ++row) {
    const auto found = numbers.find(combination(row));
    out.of_row.push_back(found != numbers.end() ? found->second : next);
    if (found == numbers.end())
      out.count = uint32_t(next) + 1;
  }
  return out;
}

} // namespace ballast::placement
