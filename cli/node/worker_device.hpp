/// What a worker's `--device` means on this machine: cpu, cuda:N, or auto,
/// which spreads the workers of a host over its GPUs and takes the CPU where
/// there is none to train on.
#pragma once

#include "gpu/device.hpp"
#include "gpu/device_seat.hpp"

#include <memory>
#include <optional>
#include <string>

namespace ballast {

struct worker_device {
  std::string name = "cpu";
  std::shared_ptr<compute_device> device = {}; // null: the CPU
  /// Held as long as the process lives.
  std::optional<device_seat> seat = {};
};

/// Throws ballast_error{usage} for another text, {device_failed} with one line
/// where the GPU that was named cannot train here.
worker_device choose_device(const std::string& asked);

/// A machine without the files of a driver has no GPU; the CUDA part need not
/// be opened to know that.
bool may_have_gpu();

} // namespace ballast
