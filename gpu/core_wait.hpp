/// How long a thread had to wait for a core: what other work on a machine,
/// other workers of the run included, takes from a worker.
#pragma once

#include <cstdint>

namespace ballast {

/// Nanoseconds that the calling thread could run and did not, since it began,
/// as Linux counts them (/proc/thread-self/schedstat); 0 where the kernel does
/// not say. Costs about a microsecond.
uint64_t core_wait_ns();

} // namespace ballast
