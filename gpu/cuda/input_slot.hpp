/// Room for one batch on the device, and pinned memory beside it. Two in turn
/// let the next batch travel while this one is computed with.
#pragma once

#include "gpu/cuda/check.hpp"
#include "gpu/model.hpp"

#include <cstddef>

namespace ballast {

class input_slot {
public:
  /// On the current device.
  void open();
  void close() noexcept;
  /// Returns when the rows are there. Grows to the largest batch seen.
  batch_view bring(const batch_view& rows, uint32_t features);

private:
  void grow(size_t bytes);

  cudaStream_t stream_ = nullptr;
  cudaEvent_t here_ = nullptr;
  char* pinned_ = nullptr;
  char* device_ = nullptr;
  size_t bytes_ = 0;
};

} // namespace ballast
