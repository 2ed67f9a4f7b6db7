/// What coordinator, shard manager and workers say to each other, as plain
/// values without CAF. actors/protocol.hpp says which actor takes which of
/// these, and when.
#pragma once

#include "runtime/messages/fragments.hpp"
#include "runtime/messages/orders.hpp"
#include "runtime/messages/reports.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ballast {

// -- coordinator <-> what works for it in the background ----------------------

/// What became of the final parameters.
struct saved_model {
  failure problem;
  std::string weights_sha256; // of model.safetensors
  step_number step{};         // likewise
  std::string note;           // what a user should know of it, or empty
};

// -- coordinator <-> shard manager --------------------------------------------

/// What the coordinator needs to know of a prepared data set.
struct set_summary {
  std::string content_id;
  std::string origin;      // address of the chunk service that has all of it
  std::string cached_as;   // its name in the cache of the origin's machine
  uint64_t train_rows = 0; // or uses, in an epoch
  uint64_t test_rows = 0;
  uint32_t classes = 0;
  shared_list<uint32_t> chunk_rows; // likewise
};

/// Chunks that no worker has room for. None: everything fits.
struct memory_need {
  uint64_t lacking_bytes = 0; // without an owner
  uint64_t free_bytes = 0;    // that the workers could still hold
  uint32_t window_chunks = 0; // that half of the least of them holds
  explicit operator bool() const { return lacking_bytes > 0; }
};

/// How one worker's share looks under a plan.
struct share_summary {
  worker_id worker{};
  uint64_t rows_owned = 0;
  double skew_tv = 0;
};

/// The shard manager's answer to place_shares.
struct placed_shares {
  ledger::plan what; // meant only where all of it fits
  std::vector<share_summary> shares;
  memory_need lacks;
};

} // namespace ballast
