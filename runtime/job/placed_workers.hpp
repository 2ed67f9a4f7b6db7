/// Of order global a set is the same for every number of workers: its chunks
/// are cut as if there were one, and dealt to those that are there.
#pragma once

#include "runtime/job/job.hpp"

namespace ballast {

/// The workers over which the rows of a set are placed when it is prepared.
inline uint32_t placed_workers(const job& of) {
  return of.train.order == sample_order::global ? 1 : of.elastic.workers;
}

} // namespace ballast
