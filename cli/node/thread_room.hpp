/// Whether this process gets the threads it is about to need.
#pragma once

#include <cstdint>

namespace ballast {

/// Has so many threads at once for a moment. Throws std::system_error if the
/// system does not give them. Call it before the actor library starts: one that
/// gets only some of its threads neither goes on nor ends.
void need_threads(uint32_t count);

} // namespace ballast
