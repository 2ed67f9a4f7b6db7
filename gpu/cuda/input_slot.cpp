#include "gpu/cuda/input_slot.hpp"

#include <cstring>

namespace ballast::gpu {
namespace {

/// The alignment of the driver's own allocations.
constexpr size_t alignment = 256;

size_t rounded(size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

} // namespace

void input_slot::open() {
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
             "cudaStreamCreate");
  check_cuda(cudaEventCreateWithFlags(&here_, cudaEventDisableTiming |
                                                  cudaEventBlockingSync),
             "cudaEventCreate");
}

void input_slot::close() noexcept {
  cudaFreeHost(pinned_);
  cudaFree(device_);
  if (here_)
    cudaEventDestroy(here_);
  if (stream_)
    cudaStreamDestroy(stream_);
}

void input_slot::grow(size_t bytes, const std::function<void()>& make_room) {
  if (bytes <= bytes_)
    return;
  cudaFreeHost(pinned_);
  cudaFree(device_);
  pinned_ = nullptr;
  device_ = nullptr;
  bytes_ = 0;
  bytes += bytes / 8; // takes differ by a few rows
  check_cuda(cudaMallocHost(reinterpret_cast<void**>(&pinned_), bytes),
             "cudaMallocHost for a batch");
  check_cuda(allocate(reinterpret_cast<void**>(&device_), bytes, make_room),
             "cudaMalloc for a batch");
  bytes_ = bytes;
}

batch_view input_slot::bring(const batch_view& rows, uint32_t features,
                             const std::function<void()>& make_room) {
  const size_t of_features = size_t(rows.rows) * features * sizeof(float);
  const size_t of_labels = rows.labels ? rows.rows * sizeof(int64_t) : 0;
  const size_t of_targets = rows.targets ? rows.rows * sizeof(float) : 0;
  const size_t labels_at = rounded(of_features);
  const size_t targets_at = labels_at + rounded(of_labels);
  const size_t whole = targets_at + of_targets;
  batch_view out = rows;
  if (rows.rows == 0)
    return out;
  grow(whole, make_room);
  std::memcpy(pinned_, rows.features, of_features);
  if (rows.labels)
    std::memcpy(pinned_ + labels_at, rows.labels, of_labels);
  if (rows.targets)
    std::memcpy(pinned_ + targets_at, rows.targets, of_targets);
  check_cuda(
      cudaMemcpyAsync(device_, pinned_, whole, cudaMemcpyHostToDevice, stream_),
      "the copy of a batch");
  check_cuda(cudaEventRecord(here_, stream_), "the copy of a batch");
  check_cuda(cudaEventSynchronize(here_), "the copy of a batch");
  out.there.features = reinterpret_cast<const float*>(device_);
  if (rows.labels)
    out.there.labels = reinterpret_cast<const int64_t*>(device_ + labels_at);
  if (rows.targets)
    out.there.targets = reinterpret_cast<const float*>(device_ + targets_at);
  return out;
}

} // namespace ballast::gpu
