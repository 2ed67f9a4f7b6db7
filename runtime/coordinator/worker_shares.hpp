/// What each worker owns and takes under a plan, as the events of a run tell
/// it: a reader who comes late can follow the balance from them alone. Pure.
#pragma once

#include "runtime/ledger/plan.hpp"
#include "runtime/messages/messages.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ballast::coordinator {

struct worker_share {
  std::string worker;
  double skew_tv = 0;
  uint64_t rows = 0; // owned
  double batch = 0;  // samples of a full global batch
};

/// By rank. `names` and `shares` by rank, too. `leaves`: of a step, 0 = of
/// order local.
std::vector<worker_share>
worker_shares(const std::vector<std::string>& names,
              const ledger::plan& current,
              const std::vector<share_summary>& shares, uint64_t global_batch,
              uint32_t leaves = 0);

} // namespace ballast::coordinator
