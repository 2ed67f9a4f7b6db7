/// What of a job's sampling its chunks cannot give: the uses of a chunk are its
/// part of the epoch's length, rounded to a whole number once for the run
/// (epoch_uses.hpp), and of few uses that is a large part. Pure.
#pragma once

#include "runtime/job/sampling_spec.hpp"
#include "runtime/ledger/manifest.hpp"

#include <cstdint>

namespace ballast::ledger {

/// Of the chunks with rows of a weight above 0.
struct use_rounding {
  uint64_t chunks = 0;
  uint64_t unused = 0;      // of these, those that are not used at all
  uint64_t unused_rows = 0; // their rows of a weight above 0
  uint64_t far_off = 0;     // of the others, more than a tenth off their part
  uint64_t uses = 0;        // of an epoch
  bool any() const { return unused + far_off > 0; }
};

/// All 0 where rows have no weights. Precondition: epoch_uses::mistake returns
/// nothing.
use_rounding rounding_of(const sampling_spec& how, uint64_t seed,
                         const manifest& set);

} // namespace ballast::ledger
