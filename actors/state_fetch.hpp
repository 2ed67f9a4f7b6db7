/// How a worker comes by the state of the checkpoint that its run begins with:
/// from the file itself, where this machine sees the one that the coordinator
/// names, so that the page cache serves all workers of a host; else from the
/// coordinator, over several connections. Belongs to the thread that loads.
#pragma once

#include "actors/replica.hpp"
#include "runtime/base/ids.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace ballast::actors {

/// What is asked of the origin.
struct state_fetch {
  std::string origin; // "host:port"
  std::string token;
  step_number start;              // the step that the run goes on with
  uint32_t local_workers = 1;     // that load on this host, this one included
  std::function<bool()> given_up; // the state is wanted no more
};

/// Takes it over; its step. Throws as load_state, and what the origin throws.
step_number fetch_state(replica& into, const state_fetch& how);

} // namespace ballast::actors
