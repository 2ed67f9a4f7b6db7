/// Checks that this process can start the threads that it will need.
#pragma once

#include <cstdint>

namespace ballast::cli {

/// Starts this many threads at once for a moment. Throws std::system_error if
/// the system refuses. Call it before the actor library starts: with only some
/// of its threads that library neither works nor ends.
void need_threads(uint32_t count);

} // namespace ballast::cli
