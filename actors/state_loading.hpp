/// The state of a checkpoint on its way into a replica: block by block, by
/// several threads, straight to where it belongs, and checked in the same pass.
/// Belongs to the thread that loads.
#pragma once

#include "actors/replica.hpp"
#include "data/model/state_blocks.hpp"
#include "data/model/state_checksums.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/ids.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace ballast::actors {

/// A state's file is not what was saved after that step: torn, changed, gone.
/// Another checkpoint may do.
class damaged_state : public ballast_error {
public:
  damaged_state(step_number after, const std::string& message)
      : ballast_error(errc::invalid_data, message), after_(after) {}
  step_number after() const { return after_; }

private:
  step_number after_;
};

/// Where a state's file is read, and how.
struct state_source {
  std::string name;   // for messages
  std::string header; // of the file, with its length before it
  data::state_checksums expected;
  data::open_blocks open; // called by each thread for itself
  uint64_t block_bytes = 0;
  uint32_t threads = 1;
};

/// Takes over a state that is to be the one before `start`; its step. Throws
/// damaged_state, invalid_data where the file does not fit the model or is of
/// another step: then nothing was taken over; `stopped` once it is given up;
/// what a reader throws.
step_number load_state(replica& into, const state_source& from,
                       step_number start,
                       const std::function<bool()>& given_up = {});

} // namespace ballast::actors
