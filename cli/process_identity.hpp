/// Identifies a process: pids are reused, a start time within one boot is not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

namespace ballast::cli {

/// Of this boot of the host; empty if /proc does not have it.
std::string boot_id();
/// When the process started, in clock ticks since the boot; nothing if it does
/// not exist or has ended.
std::optional<uint64_t> start_ticks(pid_t pid);
/// Sends the signal only if the pid still belongs to the process with that
/// start time.
void signal_process(pid_t pid, uint64_t started, int number);

} // namespace ballast::cli
