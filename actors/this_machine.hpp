/// How large the machine of this process is.
#pragma once

#include "runtime/job/memory_need.hpp"

namespace ballast::actors {

/// Memory: physical, or less where a cgroup of this process says so. Cores:
/// those that it may run on.
machine_size this_machine();

} // namespace ballast::actors
