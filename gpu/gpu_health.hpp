/// What NVML says about a GPU at one moment, and whether it holds its worker
/// up. Plain values and decisions; gpu/nvml.hpp reads them.
#pragma once

#include "runtime/messages/device_trouble.hpp"

#include <cstdint>
#include <optional>

namespace ballast {

/// Nothing where the GPU, or this NVML, does not say.
struct gpu_reading {
  std::optional<double> utilization_ratio; // of the last second, a kernel ran
  std::optional<uint64_t> memory_used_bytes;
  std::optional<uint64_t> memory_bytes;
  std::optional<double> power_watts;
  std::optional<double> temperature_celsius;
  /// Why the clock is not the highest: NVML's bits.
  std::optional<uint64_t> clock_reasons;
  std::optional<uint64_t> sent_bytes_per_second; // over PCIe
  std::optional<uint64_t> received_bytes_per_second;
  /// Memory errors that were not corrected, since the driver was loaded.
  std::optional<uint64_t> memory_errors;
  /// The newest critical error that the driver reported (Xid); 0: none.
  uint64_t xid = 0;
};

// Of `clock_reasons`.
constexpr uint64_t clock_power_cap = 0x4;
constexpr uint64_t clock_hardware_slowdown = 0x8;
constexpr uint64_t clock_thermal_software = 0x20;
constexpr uint64_t clock_thermal_hardware = 0x40;
constexpr uint64_t clock_power_brake = 0x80;

/// Something but the user's own limit lowers the clock.
inline bool is_slowed(const gpu_reading& now) {
  return (now.clock_reasons.value_or(0) &
          (clock_hardware_slowdown | clock_thermal_software |
           clock_thermal_hardware | clock_power_brake)) != 0;
}

/// Why a worker on this GPU is slower than it should be, or about to fail. A
/// power cap alone is how GPUs are run. `first` is what was read when the
/// worker started.
device_trouble gpu_trouble(const gpu_reading& first, const gpu_reading& now);

} // namespace ballast
