/// Assigns a GPU of the host to a worker that did not name one. Every GPU has
/// numbered seats, and workers take the first seat of each GPU before any
/// second one, so that they spread. A seat is a locked file; the kernel
/// releases it when its process ends, however it ends.
#pragma once

#include "store/file_lock.hpp"

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

namespace ballast::gpu {

class device_seat {
public:
  /// Takes the first free seat: one on every GPU, in the given order, before a
  /// second one on any. Nothing if `folder` cannot be used or all seats of
  /// `rounds_max` rounds are taken.
  static std::optional<device_seat> take(const std::filesystem::path& folder,
                                         const std::vector<int>& gpus);
  static constexpr int rounds_max = 16;
  /// Of this user, on this host.
  static std::filesystem::path default_folder();

  int gpu() const { return gpu_; }

private:
  device_seat(int gpu, store::file_lock lock)
      : gpu_(gpu), lock_(std::move(lock)) {}

  int gpu_;
  store::file_lock lock_;
};

} // namespace ballast::gpu
