/// How a worker comes by the parameters that its run begins with, where they
/// are those of another model: the coordinator's file, if this machine sees it,
/// else a copy of it in memory. Belongs to the thread that loads.
#pragma once

#include "runtime/base/unique_fd.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace ballast::actors {

struct parent_order {
  std::string origin; // "host:port"
  std::string token;
  std::function<bool()> given_up; // they are wanted no more
};

/// Of a file that can be read as long as this lives.
struct inherited_weights {
  std::string file; // its path here
  uint64_t optimizer_steps = 0;
  unique_fd copy; // none: the file itself
};

/// Throws ballast_error: invalid_data, unreachable, out_of_memory where the
/// copy has no room, and `stopped` once it is given up.
inherited_weights fetch_parent(const parent_order& how);

} // namespace ballast::actors
