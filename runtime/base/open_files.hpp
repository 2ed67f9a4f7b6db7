/// How many files (sockets and shared memory included) a process of a run may
/// have open at once. Below that limit it is a matter of chance which operation
/// fails first, so `ballast run` refuses to start. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace ballast {

/// The lowest limit that suffices for every process of a run with this many
/// workers on one machine, membership changes included.
uint64_t open_files_needed(uint32_t workers);

/// Why a limit (`ulimit -n`) is too low and how to raise it; empty if it
/// suffices.
std::string open_files_problem(uint64_t limit, uint32_t workers);

} // namespace ballast
