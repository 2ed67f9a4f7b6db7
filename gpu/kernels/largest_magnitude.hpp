/// The largest absolute value of an arena; infinite or not a number where any
/// value of it is. One pass at the speed of memory: a float without its sign
/// bit, read as an integer, is ordered as its magnitude is, with infinity above
/// every number and NaN above infinity.
#pragma once

#include <cstddef>

namespace ballast {

float largest_magnitude(const float* values, size_t count);

} // namespace ballast
