#include "gpu/gpu_health.hpp"

#include <cstdio>

namespace ballast {
namespace {

std::string clock_illness(const gpu_reading& now) {
  const uint64_t reasons = now.clock_reasons.value_or(0);
  if (reasons & (clock_thermal_software | clock_thermal_hardware)) {
    if (!now.temperature_celsius)
      return "slowed down by heat";
    char text[64];
    std::snprintf(text, sizeof text, "slowed down by heat (%.0f degrees)",
                  *now.temperature_celsius);
    return text;
  }
  if (reasons & clock_power_brake)
    return "slowed down by its power supply";
  if (reasons & clock_hardware_slowdown)
    return "slowed down by its hardware";
  return {};
}

} // namespace

std::string gpu_illness(const gpu_reading& first, const gpu_reading& now) {
  std::string out;
  auto add = [&out](const std::string& one) {
    out += (out.empty() || one.empty() ? "" : "; ") + one;
  };
  if (now.xid != 0)
    add("the driver reported the error Xid " + std::to_string(now.xid));
  const uint64_t before = first.memory_errors.value_or(0);
  const uint64_t errors = now.memory_errors.value_or(before);
  if (errors > before)
    add(std::to_string(errors - before) +
        (errors - before == 1 ? " memory error" : " memory errors") +
        " that could not be corrected");
  add(clock_illness(now));
  return out;
}

} // namespace ballast
