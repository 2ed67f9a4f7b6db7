/// Resolves a worker's `--device` on this machine: cpu, cuda:N, or auto, which
/// spreads the workers of a host over its GPUs and takes the CPU if no GPU can
/// train.
#pragma once

#include "gpu/device.hpp"
#include "gpu/device_seat.hpp"

#include <memory>
#include <optional>
#include <string>

namespace ballast::cli {

struct worker_device {
  std::string name = "cpu";
  std::shared_ptr<gpu::compute_device> device = {}; // null: the CPU
  /// Held as long as the process lives.
  std::optional<gpu::device_seat> seat = {};
};

/// Throws ballast_error{usage} for another text, {device_failed} with one line
/// if the named GPU cannot train here.
worker_device choose_device(const std::string& asked);

/// A machine without the driver's files has no GPU; this avoids opening the
/// CUDA part.
bool may_have_gpu();

} // namespace ballast::cli
