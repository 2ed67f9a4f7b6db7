/// How long a thread waited for a core: the time that other work on the
/// machine, other workers of the run included, takes from a worker.
#pragma once

#include <cstdint>

namespace ballast::gpu {

/// Nanoseconds since its start in which the calling thread was runnable and not
/// running, as Linux counts them (/proc/thread-self/schedstat); 0 if the kernel
/// does not report it. Costs about a microsecond.
uint64_t core_wait_ns();

} // namespace ballast::gpu
