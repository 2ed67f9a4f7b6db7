/// How a job cuts a step, as the ledger wants it.
#pragma once

#include "runtime/job/job.hpp"

namespace ballast {

/// Leaves of a step; 0: order local, each worker draws from its own rows.
inline uint32_t leaves_of(const train_spec& how) {
  return how.order == sample_order::global ? how.leaves : 0;
}

/// A worker may be asked for rows of more chunks than it has memory for, and
/// is told which come next: those of a window, or of the whole set.
inline bool streams(const train_spec& how) {
  return how.shuffle.window() > 0 || leaves_of(how) > 0;
}

} // namespace ballast
