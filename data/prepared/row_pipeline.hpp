/// A job's pipeline as it changes the shape of a row. A pure function.
#pragma once

#include "runtime/job/job.hpp"
#include "runtime/ledger/manifest.hpp"

namespace ballast::data {

/// Deterministic steps are folded into scale, offset and shape, so that a pixel
/// stays a byte. ballast_error{invalid_job} for a shape that does not hold the
/// row's values.
void apply_pipeline(const job& what, ledger::row_shape& row);

} // namespace ballast::data
