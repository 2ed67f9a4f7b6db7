/// How many files a process of a run has open at the same time, sockets and
/// shared memory among them. Where the limit of the process allows fewer, what
/// breaks first is chance: so that is refused before anything begins. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace ballast {

/// The least limit with which every process of a run of so many workers on one
/// machine gets along, also while its members change.
uint64_t open_files_needed(uint32_t workers);

/// Why a limit (`ulimit -n`) is too low, and what to do; empty: it is not.
std::string open_files_problem(uint64_t limit, uint32_t workers);

} // namespace ballast
