/// Time in the decision core: always an argument, never read from a clock.
#pragma once

#include <chrono>

namespace ballast {

/// Time since an arbitrary start, the same for all instants of a process.
using instant = std::chrono::nanoseconds;

} // namespace ballast
