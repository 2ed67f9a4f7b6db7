/// Where a model computes, and what it says if there is no room. Plain data.
#pragma once

#include "runtime/base/errors.hpp"

#include <functional>
#include <string>

namespace ballast::gpu {

/// The place where a model computes (gpu/device.hpp).
struct model_place {
  /// Arenas and `batch_view::there` are in device memory, which the host must
  /// not touch; otherwise everything is host memory.
  bool elsewhere = false;
  int cuda = -1; // index of the GPU
  /// Steps that repeat may be recorded (gpu/torch/recorded_steps.hpp).
  bool records = true;
  /// Translates a host address to one that the device's code can use; empty:
  /// the same.
  std::function<void*(const void*)> reach = {};
};

/// The device had no room for a pass; it is otherwise usable, but the pass has
/// left invalid gradients.
class out_of_memory : public ballast_error {
public:
  explicit out_of_memory(const std::string& what)
      : ballast_error(errc::device_failed, what) {}
};

} // namespace ballast::gpu
