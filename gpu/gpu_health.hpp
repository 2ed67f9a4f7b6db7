/// NVML's readings of a GPU at one moment, and whether they explain a slow
/// worker. Plain values and decisions; gpu/nvml.hpp reads them.
#pragma once

#include "runtime/messages/device_trouble.hpp"

#include <cstdint>
#include <optional>

namespace ballast::gpu {

/// Empty fields: the GPU, or this NVML, does not report them.
struct gpu_reading {
  std::optional<double> utilization_ratio; // kernel time in the last second
  std::optional<uint64_t> memory_used_bytes;
  std::optional<uint64_t> memory_bytes;
  std::optional<double> power_watts;
  std::optional<double> temperature_celsius;
  /// Why the clock is below its maximum: NVML's bits.
  std::optional<uint64_t> clock_reasons;
  std::optional<uint64_t> sent_bytes_per_second; // over PCIe
  std::optional<uint64_t> received_bytes_per_second;
  /// Uncorrected memory errors since the driver was loaded.
  std::optional<uint64_t> memory_errors;
  /// The newest critical error reported by the driver (Xid); 0: none.
  uint64_t xid = 0;
};

// A bit of `clock_reasons`.
constexpr uint64_t clock_power_cap = 0x4;
constexpr uint64_t clock_hardware_slowdown = 0x8;
constexpr uint64_t clock_thermal_software = 0x20;
constexpr uint64_t clock_thermal_hardware = 0x40;
constexpr uint64_t clock_power_brake = 0x80;

/// Something other than the user's power limit lowers the clock.
inline bool is_slowed(const gpu_reading& now) {
  return (now.clock_reasons.value_or(0) &
          (clock_hardware_slowdown | clock_thermal_software |
           clock_thermal_hardware | clock_power_brake)) != 0;
}

/// Why a worker on this GPU is slow, or about to fail. A power cap alone is
/// normal operation. `first` is the reading at the worker's start.
device_trouble gpu_trouble(const gpu_reading& first, const gpu_reading& now);

} // namespace ballast::gpu
