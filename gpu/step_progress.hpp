/// What a worker's step thread has done since it was last asked, and how long
/// the parts of each step took. Plain data.
#pragma once

#include "data/loader/row_source.hpp"
#include "runtime/ledger/commit.hpp"

#include <cstdint>
#include <vector>

namespace ballast::gpu {

/// The times of the parts of one step on this worker.
struct step_timing {
  uint64_t data_ns = 0; // waiting for the prefetched batch
  uint64_t compute_ns = 0;
  uint64_t waited_ns = 0; // thereof waiting for a core
  uint64_t reduce_ns = 0; // including the wait for other ranks
  uint64_t apply_ns = 0;
  uint64_t rows = 0;          // of this worker
  uint64_t gradient_rows = 0; // of these, with a gradient (train.importance)
  uint64_t kept_rows = 0;     // of these, computed before a failure
  uint64_t checked_rows = 0;  // of another worker, computed again (verify)
};

/// Everything applied since the last drain().
struct step_progress {
  std::vector<ledger::step_record> steps;
  std::vector<step_timing> timings; // one for each of `steps`
  uint64_t bytes_sent = 0;          // by the collective
  uint64_t store_free_bytes = 0;
  data::bytes_read read; // since the run began here
};

} // namespace ballast::gpu
