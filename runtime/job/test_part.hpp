/// Whether a job has rows that are evaluated and never trained on. Pure.
#pragma once

#include "runtime/job/job.hpp"

namespace ballast {

/// A prepared set may have some: only it knows.
inline bool has_test_part(const job& in) {
  return in.data.test || in.data.test_fraction > 0 ||
         in.data.train.format == source_format::prepared;
}

} // namespace ballast
