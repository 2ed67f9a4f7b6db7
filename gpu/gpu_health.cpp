#include "gpu/gpu_health.hpp"

#include <algorithm>

namespace ballast::gpu {

device_trouble gpu_trouble(const gpu_reading& first, const gpu_reading& now) {
  device_trouble out;
  if (now.xid != 0)
    out.add(device_cause::driver_error);
  out.xid = uint32_t(now.xid);
  const uint64_t before = first.memory_errors.value_or(0);
  const uint64_t errors = now.memory_errors.value_or(before);
  if (errors > before) {
    out.add(device_cause::memory_errors);
    out.memory_errors =
        uint32_t(std::min<uint64_t>(errors - before, UINT32_MAX));
  }
  const uint64_t reasons = now.clock_reasons.value_or(0);
  if (reasons & (clock_thermal_software | clock_thermal_hardware))
    out.add(device_cause::heat);
  if (reasons & clock_power_brake)
    out.add(device_cause::power_supply);
  if (reasons & clock_hardware_slowdown)
    out.add(device_cause::hardware);
  if (now.temperature_celsius)
    out.celsius =
        uint16_t(std::clamp(*now.temperature_celsius, 0.0, double(UINT16_MAX)));
  return out;
}

} // namespace ballast::gpu
