/// What the evaluation of a job computes. Pure functions.
#pragma once

#include "runtime/base/errors.hpp"
#include "runtime/job/job.hpp"
#include "runtime/metrics/metric_catalogue.hpp"

#include <cstdint>
#include <vector>

namespace ballast {

metrics::task task_of(loss_kind loss);

/// Those that the job names, or the usual ones; none of the emulated model,
/// which says nothing of a row.
std::vector<metrics::metric> asked_metrics(const job& of);

/// Of a label with so many classes: the first that cannot be computed.
failure metrics_misfit(const job& of, uint32_t classes);
/// `stop` and `keep` of a set with so many test rows.
failure course_misfit(const job& of, uint64_t test_rows);

} // namespace ballast
