/// The metrics that an evaluation can compute: for which task, whether high or
/// low is good, how the results of workers are merged, and whose definition it
/// is. The one source of the words of a job's `evaluate.metrics`, of what fits
/// a task, and of docs/metrics-of-models.md. Pure values.
#pragma once

#include "runtime/base/words.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::metrics {

/// What a model is trained to say of a row.
enum class task : uint8_t {
  classes, // one of several
  number,
  tokens, // each token after the first
};

enum class metric : uint8_t {
  accuracy,
  balanced_accuracy,
  majority_accuracy,
  precision,
  recall,
  f1,
  precision_macro,
  recall_macro,
  f1_macro,
  precision_weighted,
  recall_weighted,
  f1_weighted,
  precision_per_class,
  recall_per_class,
  f1_per_class,
  rows_per_class,
  confusion_matrix,
  top_2_accuracy,
  top_3_accuracy,
  top_5_accuracy,
  top_10_accuracy,
  log_loss,
  brier,
  ece,
  roc_auc,
  roc_auc_per_class,
  average_precision,
  average_precision_per_class,
  mae,
  rmse,
  r2,
  mean_rmse,
  abs_error_p50,
  abs_error_p90,
  abs_error_p99,
  token_accuracy,
  perplexity,
};

enum class better : uint8_t { high, low, neither };

/// What a metric consists of.
enum class metric_shape : uint8_t { number, per_class, matrix };

struct metric_entry {
  metric what{};
  task fits{};
  better good{};
  metric_shape shape{};
  bool two_classes = false; // of class 1, where there are two
  std::string_view meaning; // for the reference, without a full stop
  std::string_view merged;  // what workers add up
  std::string_view source;
};

/// By metric, in the order of the enum.
std::span<const metric_entry> metric_catalogue();
const metric_entry& about(metric one);

/// Of the probabilities as such. Others need the likeliest class, or which of
/// two rows is the likelier one, which any score says.
constexpr bool is_of_probabilities(metric one) {
  return one == metric::log_loss || one == metric::brier || one == metric::ece;
}

/// The words of all metrics.
std::vector<std::string> metric_names();
/// Those that fit a task; `classes`: of the label, 0: not known.
std::vector<std::string> metrics_that_fit(task what, uint32_t classes = 0);
/// What is computed where a job names none.
std::vector<metric> usual_metrics(task what);
/// The text of docs/metrics-of-models.md.
std::string metrics_reference(); // metrics_reference.cpp

} // namespace ballast::metrics

template <>
inline constexpr auto ballast::words_of<ballast::metrics::task> =
    std::to_array<std::string_view>({"classes", "number", "tokens"});
template <>
inline constexpr auto ballast::words_of<ballast::metrics::better> =
    std::to_array<std::string_view>({"high", "low", ""});
template <>
inline constexpr auto ballast::words_of<ballast::metrics::metric> =
    std::to_array<std::string_view>({"accuracy",
                                     "balanced_accuracy",
                                     "majority_accuracy",
                                     "precision",
                                     "recall",
                                     "f1",
                                     "precision_macro",
                                     "recall_macro",
                                     "f1_macro",
                                     "precision_weighted",
                                     "recall_weighted",
                                     "f1_weighted",
                                     "precision_per_class",
                                     "recall_per_class",
                                     "f1_per_class",
                                     "rows_per_class",
                                     "confusion_matrix",
                                     "top_2_accuracy",
                                     "top_3_accuracy",
                                     "top_5_accuracy",
                                     "top_10_accuracy",
                                     "log_loss",
                                     "brier",
                                     "ece",
                                     "roc_auc",
                                     "roc_auc_per_class",
                                     "average_precision",
                                     "average_precision_per_class",
                                     "mae",
                                     "rmse",
                                     "r2",
                                     "mean_rmse",
                                     "abs_error_p50",
                                     "abs_error_p90",
                                     "abs_error_p99",
                                     "token_accuracy",
                                     "perplexity"});
