/// The place where LibTorch computes for a model: the CPU, or a GPU, whose part
/// of LibTorch is a library that is opened on demand. Everything here belongs
/// to the device-generic part of LibTorch; its CUDA headers are not used.
///
/// Streams: the models set none, so that LibTorch computes in the default
/// stream of the GPU, in order with the work that gpu/cuda/cuda_device.hpp
/// enqueues there. The batch is complete when a model gets it.
#pragma once

#include "gpu/model.hpp"
#include "runtime/base/errors.hpp"

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>

namespace ballast::gpu {

/// Opens LibTorch's CUDA part, once. not_in_build if there is none,
/// device_failed if it finds no GPU.
failure load_torch_cuda();

/// What LibTorch keeps of a GPU's memory for its next tensors goes back to the
/// GPU. Does nothing without a CUDA part. Any thread.
void release_cached_memory();

at::Device device_of(const model_place& place);

/// Tensors over memory of `place`, without ownership.
at::Tensor tensor_at(const model_place& place, const float* values,
                     at::IntArrayRef shape);
at::Tensor tensor_at(const model_place& place, const int64_t* values,
                     at::IntArrayRef shape);

/// A tensor over host memory, without ownership.
at::Tensor tensor_over(const float* values, at::IntArrayRef shape);

/// The rows' features at the model's place; `shape` begins with the rows.
at::Tensor features_at(const model_place& place, const batch_view& batch,
                       at::IntArrayRef shape);

/// Matrix products, convolutions and attention in bfloat16, sums and norms in
/// float32, as LibTorch's autocast chooses; parameters and their gradients stay
/// float32. Affects the calling thread; does nothing if `on` is false.
class autocast_scope {
public:
  autocast_scope(const model_place& place, bool on);
  ~autocast_scope();
  autocast_scope(const autocast_scope&) = delete;

private:
  at::DeviceType type_;
  bool on_;
};

} // namespace ballast::gpu
