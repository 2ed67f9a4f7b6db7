#include "monitor/http/series_request.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

namespace ballast::monitor {

namespace {

template <class Number>
std::optional<Number> number_in(const std::string& text) {
  Number out{};
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return out;
}

/// Each once, in their order.
std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> out;
  std::set<std::string_view> seen;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    if (!one.empty() && seen.insert(one).second)
      out.emplace_back(one);
  }
  return out;
}

} // namespace

series_asked parse_series(const std::string& names, const std::string& from,
                          const std::string& points) {
  // Of the clock of any machine: 31 years.
  constexpr double seconds_max = 1e9;
  series_asked out;
  out.query.names = names_in(names);
  if (out.query.names.size() > series_names_max)
    out.refused = "'names' has more than " + std::to_string(series_names_max) +
                  " names, with commas between them";
  if (!from.empty()) {
    const auto seconds = number_in<double>(from);
    if (!seconds || !(std::abs(*seconds) <= seconds_max))
      out.refused = "'from' must be a number of seconds, as in 't_s'";
    else
      out.query.from_ns = int64_t(*seconds * 1e9);
  }
  if (!points.empty()) {
    const auto count = number_in<size_t>(points);
    if (!count || *count < 1 || *count > series_points_max)
      out.refused = "'points' must be a number from 1 to " +
                    std::to_string(series_points_max);
    else
      out.query.points_max = *count;
  }
  return out;
}

} // namespace ballast::monitor
