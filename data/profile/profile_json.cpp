#include "data/profile/profile_words.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ballast::data {

namespace {

using nlohmann::ordered_json;

constexpr size_t histogram_bins = 20;
constexpr size_t words_told = 20;

/// Least or most, as it is stored.
ordered_json end_json(const number_profile& of, bool most) {
  if (!of.exact)
    return most ? of.spread.most : of.spread.least;
  const int64_t bits = most ? of.exact->most : of.exact->least;
  return of.exact->is_signed ? ordered_json(bits)
                             : ordered_json(uint64_t(bits));
}

ordered_json number_json(const column_profile& of) {
  const number_profile& numbers = of.numbers;
  const counted_values ranked = numbers.ranked();
  ordered_json quantiles;
  for (const auto& [name, part] : {std::pair("0.01", 0.01),
                                   {"0.05", 0.05},
                                   {"0.25", 0.25},
                                   {"0.5", 0.5},
                                   {"0.75", 0.75},
                                   {"0.95", 0.95},
                                   {"0.99", 0.99}})
    quantiles[name] = ranked.quantile(part);
  ordered_json out{{"least", end_json(numbers, false)},
                   {"most", end_json(numbers, true)},
                   {"quantiles", quantiles}};
  if (of.kind == profiled_kind::numbers) {
    const outliers far = outliers_of(numbers);
    out["mean"] = numbers.spread.mean;
    out["deviation"] = numbers.spread.deviation();
    out["zeros"] = numbers.zeros;
    out["infinite"] = numbers.infinite;
    out["whole"] = numbers.whole;
    out["outliers"] = {{"low", far.low},
                       {"high", far.high},
                       {"below", far.below},
                       {"above", far.above}};
  }
  const counted_values::histogram bins = ranked.in_bins(histogram_bins);
  out["histogram"] = {{"width", bins.width}, {"rows", bins.counts}};
  return out;
}

ordered_json word_json(const word_profile& of) {
  const word_counts& counts = of.counts;
  const auto ranked = counts.ranked();
  ordered_json words = ordered_json::array();
  for (size_t i = 0; i < std::min(words_told, ranked.size()); ++i) {
    const counted_word& one = *ranked[i];
    ordered_json about{{"word", shown_word(one)}};
    if (one.word.size() < one.bytes)
      about["bytes"] = one.bytes;
    about["rows"] = one.rows + counts.error();
    if (!counts.is_exact())
      about["rows_least"] = one.rows;
    words.push_back(std::move(about));
  }
  return {{"empty", of.empty},
          {"least_bytes", of.least_bytes},
          {"most_bytes", of.most_bytes},
          {"most_frequent", words},
          {"estimated", !counts.is_exact()},
          {"other_rows_most", counts.error()}};
}

} // namespace

ordered_json to_json(const table_profile& of) {
  ordered_json columns = ordered_json::array();
  for (const column_profile& one : of.columns) {
    ordered_json about{{"name", one.name},
                       {"type", one.type},
                       {"missing", one.missing},
                       {"distinct", one.kind == profiled_kind::other
                                        ? ordered_json()
                                        : ordered_json(one.distinct)}};
    if (one.numbers.infinite > 0)
      about["infinite"] = one.numbers.infinite;
    if (one.numbers.spread.count > 0)
      about.update(number_json(one));
    if (one.kind == profiled_kind::words)
      about.update(word_json(one.words));
    columns.push_back(std::move(about));
  }
  ordered_json pairs = ordered_json::array();
  for (const correlated_pair& one : of.correlations)
    pairs.push_back(
        {{"columns", {of.columns[one.a].name, of.columns[one.b].name}},
         {"r", one.r},
         {"rows", one.rows}});
  ordered_json uncorrelated = ordered_json::array();
  for (const size_t one : of.uncorrelated)
    uncorrelated.push_back(of.columns[one].name);
  return {{"source", of.source},
          {"rows", of.rows},
          {"repeated_rows",
           of.repeated_rows ? ordered_json(*of.repeated_rows) : ordered_json()},
          {"columns", std::move(columns)},
          {"correlations", std::move(pairs)},
          {"not_correlated", std::move(uncorrelated)}};
}

ordered_json to_json(const table_drift& of) {
  const auto number = [](const std::optional<double>& one) {
    return one ? ordered_json(*one) : ordered_json();
  };
  ordered_json columns = ordered_json::array();
  for (const column_drift& one : of.columns) {
    ordered_json about{{"name", one.name},
                       {"drift", to_string(one.size)},
                       {"stability_index", number(one.stability)},
                       {"distance", number(one.distance)},
                       {"missing_before", one.missing_before},
                       {"missing_after", one.missing_after}};
    if (one.estimated)
      about["estimated"] = true;
    if (!one.new_words.empty()) {
      about["new_words"] = one.new_words;
      about["new_word_rows"] = one.new_word_rows;
    }
    if (!one.note.empty())
      about["note"] = one.note;
    columns.push_back(std::move(about));
  }
  return {{"before", of.before},
          {"after", of.after},
          {"columns", std::move(columns)},
          {"gone", of.gone},
          {"new", of.fresh}};
}

} // namespace ballast::data
