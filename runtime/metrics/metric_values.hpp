/// What the metrics of an evaluation came to. Computed once, from the sums of
/// all workers: never a mean of means. Pure values.
#pragma once

#include "runtime/metrics/layout.hpp"
#include "runtime/metrics/metric_catalogue.hpp"
#include "runtime/metrics/ranking.hpp"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace ballast::metrics {

struct metric_value {
  metric what{};
  /// One; of each class; or a matrix, row after row. NaN: undefined.
  std::vector<double> numbers;
  std::string undefined; // why some are; empty: none is
  double error_max = 0;  // 0: exact
  auto fields() { return std::tie(what, numbers, undefined, error_max); }
  friend bool operator==(const metric_value&, const metric_value&) = default;
};

using metric_values = std::vector<metric_value>;

/// Of all rows of all workers.
struct totals {
  std::vector<double> reals;    // as the layout has them
  std::vector<uint64_t> counts; // likewise
  std::vector<double> ranked;   // of all rows, in any order
  /// By column, where these are known without `ranked`; empty: they are not.
  std::vector<class_ranking> columns;
  double loss = 0;     // of task tokens: mean over the tokens
  double accuracy = 0; // likewise
};

/// Of one column of the layout, by what is ranked of all rows.
class_ranking ranked_column(const layout& by, std::span<const double> ranked,
                            size_t column);

/// One for each metric that is wanted, in that order. Sorts within `of`.
metric_values values_of(const layout& by, totals& of);

/// The number of a metric that is one, or nothing: it is not there, or is
/// undefined.
const double* number_of(const metric_values& in, metric what);

/// {"f1_macro": 0.8, "f1_per_class": [...], "confusion_matrix": [[...], ...]};
/// null: undefined.
nlohmann::ordered_json values_json(const metric_values& in);
/// By metric, why it is undefined, and how far it may be off; {}: none is.
nlohmann::ordered_json undefined_json(const metric_values& in);
nlohmann::ordered_json error_max_json(const metric_values& in);
/// Adds these three to an object as `PREFIXmetrics`, `PREFIXmetrics_undefined`
/// and `PREFIXmetrics_error_max`; what is empty is not added.
void add_values(nlohmann::ordered_json& to, const std::string& prefix,
                const metric_values& in);

/// All of it, for a journal, and back. A metric that this build does not know
/// is left out.
nlohmann::json journal_json(const metric_values& in);
metric_values values_of_journal(const nlohmann::json& in);

} // namespace ballast::metrics
