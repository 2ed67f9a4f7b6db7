/// report.json: the result of a run. --json prints the same object.
#pragma once

#include "runtime/coordinator/time_account.hpp"
#include "runtime/metrics/metric_values.hpp"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace ballast::monitor {

/// One loss of a worker and the return to training.
struct recovery {
  std::string reason;
  double ms = 0;
};

/// How often the expected rows occur in committed steps.
struct audit_result {
  uint64_t expected = 0;
  uint64_t once = 0;
  uint64_t lost = 0;
  uint64_t repeated = 0;
  /// The first contradiction between ledger, steps and traces; empty = none.
  std::string problem;
};

/// Of all evaluations of a run.
struct best_result {
  std::string metric;
  uint64_t epoch = 0;
  uint64_t step = 0;
  double value = 0;
};

/// How far importance sampling was on, over the steps of each worker.
struct importance_result {
  uint64_t worker_steps = 0; // all
  uint64_t drawn = 0;        // of these, with the gradient of drawn rows
  double mean_rows = 0;      // of a worker in those
  double mean_gradient_rows = 0;
  /// Of a run that was resumed: after this step; what was before is not known.
  uint64_t since_step = 0;
};

/// Unknown fields, and those that the run did not reach, stay empty and are
/// written as null.
struct run_report {
  std::string state; // done, failed, stopped
  uint64_t epochs = 0;
  uint64_t steps = 0;
  uint64_t samples = 0;
  std::optional<double> wall_s;
  /// Training samples over training time, evaluation excluded.
  std::optional<double> samples_per_s;
  std::optional<double> train_loss;
  std::optional<double> test_loss;
  std::optional<double> test_accuracy;
  /// Omitted if there are none.
  metrics::metric_values test_values;
  /// What the workers' time went into, in this life of the coordinator; omitted
  /// if there is none.
  std::optional<coordinator::spent_time> time;
  std::optional<uint64_t> generations;
  std::vector<recovery> recoveries;
  /// Moves for balance only; repair does not count.
  std::optional<uint64_t> moved_samples;
  std::optional<uint64_t> moved_bytes;
  std::optional<uint64_t> moved_bound_samples;
  std::optional<double> skew_tv_start;
  std::optional<double> skew_tv_max;
  std::optional<std::string> weights_sha256;
  /// The step after which model.safetensors was taken.
  std::optional<uint64_t> model_step;
  /// The best evaluation by keep.best, or by stop; omitted if there is none.
  std::optional<best_result> best;
  std::optional<audit_result> audit;
  /// Digest of all committed steps (runtime/ledger/lineage.hpp); omitted if
  /// empty.
  std::string lineage;
  /// Omitted unless the job has train.importance.
  std::optional<importance_result> importance;
  /// Why it failed, was stopped, or ended before its last epoch; omitted if
  /// empty.
  std::string reason;
};

/// Keys in the documented order.
nlohmann::ordered_json to_json(const run_report& in);

} // namespace ballast::monitor
