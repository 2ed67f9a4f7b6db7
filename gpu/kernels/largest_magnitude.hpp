/// The largest absolute value of an arena; infinite or NaN if any value is. One
/// pass at the speed of memory: read as integers, floats without their sign bit
/// have the order of their magnitudes, with infinity above every number and NaN
/// above infinity.
#pragma once

#include <cstddef>

namespace ballast::gpu {

float largest_magnitude(const float* values, size_t count);

} // namespace ballast::gpu
