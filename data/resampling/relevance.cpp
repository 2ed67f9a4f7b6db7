#include "data/resampling/relevance.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

namespace ballast::data {

namespace {

using graph::rare_values;

/// Of sorted values, interpolated between the two around it.
double quantile_of(std::span<const double> sorted, double part) {
  const double at = part * double(sorted.size() - 1);
  const auto low = size_t(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - double(low)) * (sorted[high] - sorted[low]);
}

[[noreturn]] void refuse_points(const std::string& said) {
  throw ballast_error(
      errc::usage,
      "--option relevance: expected auto, or a list of two or more values with "
      "their relevance from 0 to 1, in ascending order: [[10, 1], [20, 0]], "
      "found " +
          printable(said));
}

std::vector<control_point> said_points(const std::string& said) {
  const nlohmann::json all = nlohmann::json::parse(said, nullptr, false);
  std::vector<control_point> out;
  if (!all.is_array() || all.size() < 2)
    refuse_points(said);
  for (const nlohmann::json& one : all) {
    if (!one.is_array() || one.size() != 2 || !one[0].is_number() ||
        !one[1].is_number())
      refuse_points(said);
    out.push_back({one[0].get<double>(), one[1].get<double>()});
    const control_point& last = out.back();
    if (!std::isfinite(last.value) || !(last.relevance >= 0) ||
        !(last.relevance <= 1) ||
        (out.size() > 1 && !(out[out.size() - 2].value < last.value)))
      refuse_points(said);
  }
  return out;
}

std::string short_text(double value) {
  char out[32];
  std::snprintf(out, sizeof out, "%.6g", value);
  return out;
}

} // namespace

std::vector<control_point> control_points(std::span<const double> values,
                                          const range_terms& terms,
                                          const std::string& label) {
  if (terms.relevance != "auto")
    return said_points(terms.relevance);
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double first = quantile_of(sorted, 0.25);
  const double third = quantile_of(sorted, 0.75);
  const double reach = terms.coefficient * (third - first);
  const double low = *std::ranges::lower_bound(sorted, first - reach);
  const double high =
      *std::prev(std::ranges::upper_bound(sorted, third + reach));
  const bool below = terms.rare != rare_values::high && sorted.front() < low;
  const bool above = terms.rare != rare_values::low && sorted.back() > high;
  if (!below && !above)
    throw ballast_error(
        errc::invalid_data,
        "column '" + printable(label) +
            "' has no rare values: none is more "
            "than " +
            short_text(terms.coefficient) +
            " times the distance of the "
            "quartiles beyond them (they are " +
            short_text(first) + " and " + short_text(third) +
            "); take a smaller coefficient, or say which values are rare by "
            "relevance: [[10, 0], [20, 1]]");
  const double median = quantile_of(sorted, 0.5);
  std::vector<control_point> out;
  if (below && low < median)
    out.push_back({low, 1});
  out.push_back({median, 0});
  if (above && high > median)
    out.push_back({high, 1});
  // More than half of all values are equal: each other one is rare.
  if (below && low == median)
    out.insert(out.begin(), {std::nextafter(median, -INFINITY), 1});
  if (above && high == median)
    out.push_back({std::nextafter(median, INFINITY), 1});
  return out;
}

double relevance_of(double value, std::span<const control_point> points) {
  if (value <= points.front().value)
    return points.front().relevance;
  if (value >= points.back().value)
    return points.back().relevance;
  const auto next =
      std::ranges::upper_bound(points, value, {}, &control_point::value);
  const control_point& a = *std::prev(next);
  const control_point& b = *next;
  const double t = (value - a.value) / (b.value - a.value);
  return a.relevance + t * t * (3 - 2 * t) * (b.relevance - a.relevance);
}

value_ranges ranges_of(std::span<const double> values, const range_terms& terms,
                       const std::string& label) {
  value_ranges out;
  if (values.empty())
    return out;
  const std::vector<control_point> points =
      control_points(values, terms, label);
  std::vector<uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return values[a] != values[b] ? values[a] < values[b] : a < b;
  });
  out.of_row.resize(values.size());
  const auto is_rare = [&](size_t i) {
    return relevance_of(values[order[i]], points) >= terms.threshold;
  };
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    while (end < order.size() && is_rare(end) == is_rare(begin))
      out.of_row[order[end++]] = uint32_t(out.names.size());
    out.names.push_back(short_text(values[order[begin]]) + " to " +
                        short_text(values[order[end - 1]]) +
                        (is_rare(begin) ? ", rare" : ""));
    begin = end;
  }
  return out;
}

} // namespace ballast::data
