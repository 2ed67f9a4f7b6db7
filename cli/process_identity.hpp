/// Which process a number stands for: numbers are given again, a start time
/// within one boot is not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

namespace ballast {

/// Of this boot of the host; empty where /proc does not tell.
std::string boot_id();
/// When the process started, in clock ticks since the boot; nothing if there is
/// none or it has ended.
std::optional<uint64_t> start_ticks(pid_t pid);
/// Sends the signal only if that process still is the one that started then.
void signal_process(pid_t pid, uint64_t started, int number);

} // namespace ballast
