/// What slows a worker down, small enough for every heartbeat: what is wrong
/// with the device that it computes on, which gpu/gpu_health.hpp finds, or rows
/// that come too slowly, which its progress reports show. The coordinator tells
/// of it (runtime/coordinator/straggler.hpp). Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ballast {

/// Bits of device_trouble::causes.
enum class device_cause : uint8_t {
  heat = 1,
  power_supply = 2,
  hardware = 4, // slows it down, and does not say why
  memory_errors = 8,
  driver_error = 16, // Xid
  data = 32,         // steps wait for their rows
};

/// Where the rows come from that a worker reads.
enum class rows_source : uint8_t { unknown, origin, disk };

struct device_trouble {
  uint8_t causes = 0;         // 0: none
  uint16_t celsius = 0;       // how hot it is; 0: it does not say
  uint32_t memory_errors = 0; // not corrected, since the worker started
  uint32_t xid = 0;           // the newest one
  rows_source from = rows_source::unknown;
  uint8_t data_percent = 0; // of its time it waits for rows

  bool has(device_cause one) const { return (causes & uint8_t(one)) != 0; }
  void add(device_cause one) { causes |= uint8_t(one); }
};

/// "slowed down by heat (91 degrees)"; the gravest first, at most some 200
/// characters; empty if nothing is wrong.
std::string describe(const device_trouble& what);
/// Behind "its ": "cuda:0: slowed down by heat (91 degrees)", or "rows, ...".
std::string describe(const device_trouble& what, const std::string& device);
/// "heat", "memory_errors", ...
std::vector<std::string> cause_names(const device_trouble& what);

} // namespace ballast
