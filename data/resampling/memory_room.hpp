/// Resampling holds its rows in memory. Where they would not fit it says so,
/// rather than be killed for it.
#pragma once

#include <cstdint>
#include <string>

namespace ballast::data {

/// Throws ballast_error{invalid_data} if this process may not use so much more
/// memory: "WHAT take N MB of memory, ...".
void check_room(uint64_t bytes, const std::string& what);

} // namespace ballast::data
