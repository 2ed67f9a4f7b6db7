#include "data/profile/drift.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

namespace ballast::data {

namespace {

constexpr size_t bins = 10;
constexpr double least_share = 1e-4;
constexpr double some_change = 0.1;
constexpr double large_change = 0.25;
constexpr size_t new_words_told = 5;

double share(double part, double of) {
  return of == 0 ? 0 : part / of;
}

double index_of(double before, double after) {
  before = std::max(before, least_share);
  after = std::max(after, least_share);
  return (after - before) * std::log(after / before);
}

double missing_share(const column_profile& of) {
  return share(double(of.missing), double(of.rows));
}

/// Both have finite numbers.
void compare_numbers(const column_profile& a, const column_profile& b,
                     column_drift& out) {
  const counted_values before = a.numbers.ranked();
  const counted_values after = b.numbers.ranked();
  if (before.count() == 0 || after.count() == 0)
    return;
  const auto of_before = double(before.count());
  const auto of_after = double(after.count());
  double distance = 0;
  const auto look = [&](double value) {
    distance = std::max(distance, std::abs(before.below(value) / of_before -
                                           after.below(value) / of_after));
  };
  for (const counted_values* one : {&before, &after})
    for (size_t i = 0; i <= 1000; ++i) {
      const double value = one->quantile(double(i) / 1000);
      look(value);
      look(std::nextafter(value, std::numeric_limits<double>::infinity()));
    }
  out.distance = distance;
  // Equal edges, of a value that many rows have, are one.
  std::vector<double> edges;
  for (size_t i = 1; i < bins; ++i)
    if (const double edge =
            std::nextafter(before.quantile(double(i) / double(bins)),
                           std::numeric_limits<double>::infinity());
        edges.empty() || edge > edges.back())
      edges.push_back(edge);
  double stability = index_of(missing_share(a), missing_share(b));
  double done_before = 0;
  double done_after = 0;
  for (size_t i = 0; i <= edges.size(); ++i) {
    const bool last = i == edges.size();
    const double to_before = last ? of_before : before.below(edges[i]);
    const double to_after = last ? of_after : after.below(edges[i]);
    stability += index_of(share(to_before - done_before, double(a.rows)),
                          share(to_after - done_after, double(b.rows)));
    done_before = to_before;
    done_after = to_after;
  }
  out.stability = stability;
}

void compare_words(const column_profile& a, const column_profile& b,
                   column_drift& out) {
  std::map<std::string_view, std::pair<double, double>> shares;
  for (const auto& [word, times] : a.words.words)
    shares[word].first = share(double(times), double(a.rows));
  for (const auto& [word, times] : b.words.words) {
    auto [found, fresh] = shares.try_emplace(word);
    found->second.second = share(double(times), double(b.rows));
    if (!fresh || a.words.others > 0)
      continue;
    out.new_word_rows += times;
    if (out.new_words.size() < new_words_told)
      out.new_words.push_back(word);
  }
  // Words that are not told apart are one.
  double difference = 0;
  double stability = index_of(missing_share(a), missing_share(b));
  const auto add = [&](double before, double after) {
    difference += std::abs(before - after);
    stability += index_of(before, after);
  };
  for (const auto& [word, both] : shares)
    add(both.first, both.second);
  add(share(double(a.words.others), double(a.rows)),
      share(double(b.words.others), double(b.rows)));
  difference += std::abs(missing_share(a) - missing_share(b));
  out.distance = difference / 2;
  out.stability = stability;
}

column_drift compare(const column_profile& a, const column_profile& b) {
  column_drift out;
  out.name = a.name;
  out.type = a.type;
  out.missing_before = missing_share(a);
  out.missing_after = missing_share(b);
  if (a.kind != b.kind) {
    out.note = "was " + a.type + ", is " + b.type;
    out.size = drift_size::large;
    return out;
  }
  if (a.kind == profiled_kind::words)
    compare_words(a, b, out);
  else if (a.kind != profiled_kind::other)
    compare_numbers(a, b, out);
  if (out.stability)
    out.size = *out.stability >= large_change  ? drift_size::large
               : *out.stability >= some_change ? drift_size::some
                                               : drift_size::none;
  return out;
}

} // namespace

std::string to_string(drift_size what) {
  switch (what) {
  case drift_size::some:
    return "some";
  case drift_size::large:
    return "large";
  case drift_size::none:
    break;
  }
  return "none";
}

table_drift drift_between(const table_profile& before,
                          const table_profile& after) {
  table_drift out;
  out.before = before.source;
  out.after = after.source;
  const auto find = [](const table_profile& in, const std::string& name) {
    return std::find_if(
        in.columns.begin(), in.columns.end(),
        [&](const column_profile& one) { return one.name == name; });
  };
  for (const column_profile& one : before.columns)
    if (const auto other = find(after, one.name); other != after.columns.end())
      out.columns.push_back(compare(one, *other));
    else
      out.gone.push_back(one.name);
  for (const column_profile& one : after.columns)
    if (find(before, one.name) == before.columns.end())
      out.fresh.push_back(one.name);
  return out;
}

} // namespace ballast::data
