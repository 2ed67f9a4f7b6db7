#include "data/profile/drift.hpp"

#include "data/profile/word_drift.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace ballast::data {

namespace {

constexpr size_t bins = 10;
constexpr double some_change = 0.1;
constexpr double large_change = 0.25;

/// The shares of the present values that are -inf, below a number, finite.
struct distribution {
  explicit distribution(const column_profile& of)
      : finite(of.numbers.ranked()), all(double(of.present())),
        lowest(double(of.numbers.negative_infinite)) {}

  double below(double value) const {
    return (lowest + finite.below(value)) / all;
  }
  double without_highest() const {
    return (lowest + double(finite.count())) / all;
  }

  counted_values finite;
  double all;
  double lowest;
};

/// Both have values.
double distance_of(const distribution& before, const distribution& after) {
  double out =
      std::max(std::abs(before.lowest / before.all - after.lowest / after.all),
               std::abs(before.without_highest() - after.without_highest()));
  const auto look = [&](double value) {
    out = std::max(out, std::abs(before.below(value) - after.below(value)));
  };
  for (const counted_values* one : {&before.finite, &after.finite})
    for (size_t i = 0; one->count() > 0 && i <= 1000; ++i) {
      const double value = one->quantile(double(i) / 1000);
      look(value);
      look(std::nextafter(value, std::numeric_limits<double>::infinity()));
    }
  return out;
}

void compare_numbers(const column_profile& a, const column_profile& b,
                     column_drift& out) {
  const distribution before(a);
  const distribution after(b);
  if (a.present() > 0 && b.present() > 0)
    out.distance = distance_of(before, after);
  // Equal edges, of a value that many rows have, are one.
  std::vector<double> edges;
  for (size_t i = 1; before.finite.count() > 0 && i < bins; ++i)
    if (const double edge =
            std::nextafter(before.finite.quantile(double(i) / double(bins)),
                           std::numeric_limits<double>::infinity());
        edges.empty() || edge > edges.back())
      edges.push_back(edge);
  const auto add = [&](double rows_before, double rows_after) {
    *out.stability += stability_of(share(rows_before, double(a.rows)),
                                   share(rows_after, double(b.rows)));
  };
  out.stability = 0;
  add(double(a.missing), double(b.missing));
  add(before.lowest, after.lowest);
  add(double(a.numbers.infinite) - before.lowest,
      double(b.numbers.infinite) - after.lowest);
  double done_before = 0;
  double done_after = 0;
  for (size_t i = 0; i <= edges.size(); ++i) {
    const bool last = i == edges.size();
    const double to_before =
        last ? double(before.finite.count()) : before.finite.below(edges[i]);
    const double to_after =
        last ? double(after.finite.count()) : after.finite.below(edges[i]);
    add(to_before - done_before, to_after - done_after);
    done_before = to_before;
    done_after = to_after;
  }
}

void compare_words(const column_profile& a, const column_profile& b,
                   column_drift& out) {
  word_drift found = word_drift_between(a, b);
  out.distance = found.distance;
  out.stability = found.stability;
  out.estimated = found.estimated;
  out.new_words = std::move(found.new_words);
  out.new_word_rows = found.new_word_rows;
}

/// Nothing is known but what is missing.
void compare_missing(column_drift& out) {
  out.stability = stability_of(out.missing_before, out.missing_after) +
                  stability_of(1 - out.missing_before, 1 - out.missing_after);
}

column_drift compare(const column_profile& a, const column_profile& b) {
  column_drift out;
  out.name = a.name;
  out.type = a.type;
  out.missing_before = missing_share(a);
  out.missing_after = missing_share(b);
  const bool any_values = a.present() > 0 && b.present() > 0;
  if (a.kind != b.kind && any_values) {
    out.note = "was " + a.type + ", is " + b.type;
    out.size = drift_size::large;
    return out;
  }
  // Of a column without values the type says nothing.
  if (a.kind == profiled_kind::other || a.kind != b.kind)
    compare_missing(out);
  else if (a.kind == profiled_kind::words)
    compare_words(a, b, out);
  else
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
