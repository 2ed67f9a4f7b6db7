/// Takes the page faults of new host memory ahead, on several threads: the
/// kernel zeroes a page at the first write to it, and that first write would
/// else be in a step for which every rank waits. By ordinary faults: a process
/// that asks the kernel to populate a range keeps its other threads, heartbeats
/// too, from mapping anything meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::gpu {

/// Returns when every page is there. Precondition: nobody has written to this
/// memory yet, so that it is 0, and nobody does meanwhile.
void touch_first(const std::vector<std::span<float>>& memory, uint32_t threads);

} // namespace ballast::gpu
