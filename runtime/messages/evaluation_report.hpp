/// What the workers found in the test part: loss and metrics. Plain value; one
/// of the reports of reports.hpp.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/base/shared_list.hpp"
#include "runtime/metrics/metric_values.hpp"

#include <cstdint>
#include <tuple>

namespace ballast {

/// Result of the read-only collective behind a step; equal on every rank.
struct evaluation_report {
  worker_id worker{};
  ballast::generation generation{};
  step_number step{};   // after this one,
  epoch_number epoch{}; // which is of that epoch
  double loss = 0;
  double accuracy = 0; // of classes; not meaningful for regression
  uint64_t rows = 0;
  uint64_t wall_ns = 0;
  shared_list<metrics::metric_value> values = {}; // in the order of the job
  auto fields() {
    return std::tie(worker, generation, step, epoch, loss, accuracy, rows,
                    wall_ns, values);
  }
};

} // namespace ballast
