/// Shared by the .cu files: the grid size of a launch, and its error check.
#pragma once

#include <cstddef>

namespace ballast::gpu {

constexpr int threads_per_block = 256;

/// Blocks for `items`, of which a thread takes one per iteration: enough to
/// fill the current device several times, but no more than there are items; the
/// kernels loop in strides of the whole grid. At least 1.
unsigned blocks_for(size_t items);
/// The same with blocks of `threads`, and at most `blocks_per_processor`.
unsigned blocks_for(size_t items, int threads, int blocks_per_processor);

/// Throws ballast_error{device_failed} that names `kernel` if the last launch
/// was refused.
void check_launch(const char* kernel);

} // namespace ballast::gpu
