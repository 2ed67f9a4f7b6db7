/// The clocks of Ballast's records. Every record carries both: `t_ns`
/// (CLOCK_MONOTONIC, to measure between records of one host) and `time` (UTC,
/// to relate to other systems). Decisions never read these.
#pragma once

#include <cstdint>
#include <string>

namespace ballast::store {

/// CLOCK_MONOTONIC, nanoseconds since boot.
int64_t monotonic_ns();
/// CLOCK_REALTIME, nanoseconds since 1970.
int64_t wall_ns();
/// The wall time at which this host's monotonic clock showed `t_ns`.
int64_t wall_ns_of(int64_t t_ns);
/// "2026-01-31T12:34:56.789Z" of nanoseconds since 1970.
std::string utc_time(int64_t wall_ns);

} // namespace ballast::store
