/// Reads the state of one GPU from NVML (libnvidia-ml.so.1), which comes with
/// the driver and is opened at run time. Makes no CUDA call.
///
/// Thread: one at a time. A reading takes some 40 ms (PCIe counters).
#pragma once

#include "gpu/gpu_health.hpp"

#include <memory>
#include <string>

namespace ballast::gpu {

constexpr const char* nvml_library_name = "libnvidia-ml.so.1";

class nvml_reader {
public:
  /// `bus` as in "0000:17:00.0". Null and `why` set if NVML cannot be opened or
  /// does not know the GPU.
  static std::unique_ptr<nvml_reader>
  open(const std::string& bus, std::string& why,
       const std::string& library = nvml_library_name);

  virtual ~nvml_reader() = default;
  virtual gpu_reading read() = 0;
};

} // namespace ballast::gpu
