/// Shared by the .cu files: how many threads a launch gets, and how it ends.
#pragma once

#include <cstddef>

namespace ballast {

constexpr int threads_per_block = 256;

/// Blocks for `items` that a thread takes one of per turn: enough to fill the
/// current device several times over, and no more than there is work for; the
/// kernels go round in strides of the whole grid. At least 1.
unsigned blocks_for(size_t items);

/// Throws ballast_error{device_failed} that names `kernel` where the launch
/// just made was refused.
void check_launch(const char* kernel);

} // namespace ballast
