/// Room for one batch on the device, with pinned host memory beside it. With
/// two in turn, the next batch travels while the present one is used.
#pragma once

#include "gpu/cuda/check.hpp"
#include "gpu/model.hpp"

#include <cstddef>

namespace ballast::gpu {

class input_slot {
public:
  /// On the current device.
  void open();
  void close() noexcept;
  /// Returns when the rows are on the device. Grows to the largest batch seen.
  batch_view bring(const batch_view& rows, uint32_t features,
                   const std::function<void()>& make_room);

private:
  void grow(size_t bytes, const std::function<void()>& make_room);

  cudaStream_t stream_ = nullptr;
  cudaEvent_t here_ = nullptr;
  char* pinned_ = nullptr;
  char* device_ = nullptr;
  size_t bytes_ = 0;
};

} // namespace ballast::gpu
