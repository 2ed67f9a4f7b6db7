#include "runtime/base/no_progress.hpp"

#include <array>
#include <cstdio>

namespace ballast {

namespace {

std::string seconds_text(std::chrono::nanoseconds time) {
  char out[32];
  std::snprintf(out, sizeof out, "%.1f s",
                std::chrono::duration<double>(time).count());
  return out;
}

} // namespace

std::string byte_text(uint64_t bytes) {
  constexpr std::array units{"bytes", "kB", "MB", "GB", "TB"};
  if (bytes < 1000)
    return std::to_string(bytes) + " bytes";
  auto amount = double(bytes);
  size_t unit = 0;
  while (amount >= 1000 && unit + 1 < units.size()) {
    amount /= 1000;
    ++unit;
  }
  char out[48];
  std::snprintf(out, sizeof out, "%.1f %s", amount, units[unit]);
  return out;
}

std::string no_progress::describe(instant now) const {
  std::string out = "no byte for " + seconds_text(now - last_) + "; ";
  if (bytes_ == 0)
    out += "nothing";
  else
    out += byte_text(bytes_);
  if (expected_ > 0)
    out += " of " + byte_text(expected_);
  out += " had arrived";
  if (bytes_ > 0)
    out += " after " + seconds_text(last_ - begun_);
  return out;
}

} // namespace ballast
