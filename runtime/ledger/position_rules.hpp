/// What follows from a position alone, for the parts of the ledger.
#pragma once

#include "runtime/ledger/ledger.hpp"

#include <cstdint>

namespace ballast::ledger {

constexpr uint64_t steps_for(uint64_t rows, uint64_t global_batch) {
  return rows / global_batch + (rows % global_batch ? 1 : 0);
}

/// Rows consumed by the first `steps` steps of an epoch.
constexpr uint64_t consumed_after(uint64_t steps, uint64_t global_batch,
                                  uint64_t rows) {
  return steps > rows / global_batch ? rows : steps * global_batch;
}

/// Of order global: equal where two processes draw the same from there on.
uint64_t position_digest(const ledger_config& config, epoch_number epoch,
                         uint64_t step_of_epoch);

} // namespace ballast::ledger
