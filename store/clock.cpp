#include "store/clock.hpp"

#include <cstdio>
#include <ctime>

namespace ballast::store {

namespace {

int64_t read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

} // namespace

int64_t monotonic_ns() {
  return read_clock(CLOCK_MONOTONIC);
}

int64_t wall_ns() {
  return read_clock(CLOCK_REALTIME);
}

int64_t wall_ns_of(int64_t t_ns) {
  return wall_ns() - (monotonic_ns() - t_ns);
}

std::string utc_time(int64_t wall_ns) {
  // Rounds down, also before 1970.
  int64_t ms = wall_ns / 1'000'000 - (wall_ns % 1'000'000 < 0 ? 1 : 0);
  int64_t part = (ms % 1000 + 1000) % 1000;
  time_t seconds = (ms - part) / 1000;
  tm utc{};
  gmtime_r(&seconds, &utc);
  char text[40];
  size_t size = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text + size, sizeof text - size, ".%03dZ", int(part));
  return text;
}

} // namespace ballast::store
