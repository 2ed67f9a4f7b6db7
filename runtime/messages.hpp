/// What coordinator, shard manager and workers say to each other, as plain
/// values without CAF. actors/protocol.hpp says which actor takes which of
/// these, and when.
#pragma once

#include "runtime/orders.hpp"
#include "runtime/reports.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ballast {

// -- coordinator <-> shard manager --------------------------------------------

/// What the coordinator needs to know of a prepared data set.
struct set_summary {
  std::string content_id;
  std::string origin; // address of the chunk service that has all of it
  uint64_t train_rows = 0;
  uint64_t test_rows = 0;
  uint32_t classes = 0;
  std::vector<uint32_t> chunk_rows;
  double prepare_s = 0;
};

/// How one worker's share looks under a plan.
struct share_summary {
  worker_id worker{};
  uint64_t rows_owned = 0;
  double skew_tv = 0;
};

} // namespace ballast
