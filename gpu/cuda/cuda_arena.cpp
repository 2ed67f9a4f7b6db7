#include "gpu/cuda/cuda_arena.hpp"

#include "gpu/cuda/check.hpp"
#include "gpu/cuda/nccl_library.hpp"
#include "runtime/base/errors.hpp"

#include <algorithm>
#include <map>
#include <mutex>

namespace ballast::gpu {

struct cuda_arenas::book {
  explicit book(int index) : device(index) {}
  const int device;
  std::mutex mutex;
  std::map<const char*, size_t> bytes; // by begin
};

namespace {

[[noreturn]] void no_room(int device, size_t wanted) {
  size_t free = 0;
  size_t total = 0;
  cudaMemGetInfo(&free, &total);
  throw ballast_error(
      errc::device_failed,
      "cuda:" + std::to_string(device) + " has no room for an arena of " +
          std::to_string(wanted >> 20) + " MiB: " + std::to_string(free >> 20) +
          " of its " + std::to_string(total >> 20) +
          " MiB are free; end what else runs there (nvidia-smi names it), or "
          "take a smaller model");
}

/// NCCL maps memory from its own allocator into the peers; other memory needs
/// one more copy. Without NCCL it is plain device memory.
void* take(int device, size_t bytes, bool& of_nccl,
           const std::function<void()>& make_room) {
  const nccl_library& nccl = loaded_nccl();
  void* out = nullptr;
  of_nccl = nccl.running_version > 0 && nccl.mem_alloc && nccl.mem_free &&
            nccl.mem_alloc(&out, bytes) == ncclSuccess;
  if (of_nccl)
    return out;
  cudaGetLastError();
  const cudaError_t code = gpu::allocate(&out, bytes, make_room);
  if (code == cudaErrorMemoryAllocation) {
    cudaGetLastError(); // clears the error, which is not one of the device
    no_room(device, bytes);
  }
  check_cuda(code, "cudaMalloc");
  return out;
}

void give_back(int device, void* memory, bool of_nccl) {
  cudaSetDevice(device);
  if (of_nccl) {
    cudaStreamSynchronize(nullptr); // unmapping does not wait, cudaFree does
    loaded_nccl().mem_free(memory);
  } else {
    cudaFree(memory);
  }
}

} // namespace

cuda_arenas::cuda_arenas(int device) : book_(std::make_shared<book>(device)) {}

std::shared_ptr<float[]>
cuda_arenas::allocate(size_t floats, const std::function<void()>& make_room) {
  const int device = book_->device;
  const size_t bytes = std::max<size_t>(floats * sizeof(float), 64);
  check_cuda(cudaSetDevice(device), "cudaSetDevice");
  bool of_nccl = false;
  void* memory = take(device, bytes, of_nccl, make_room);
  std::shared_ptr<float[]> out(
      static_cast<float*>(memory), [book = book_, of_nccl](float* begin) {
        {
          std::lock_guard lock(book->mutex);
          book->bytes.erase(reinterpret_cast<const char*>(begin));
        }
        give_back(book->device, begin, of_nccl);
      });
  {
    std::lock_guard lock(book_->mutex);
    book_->bytes[static_cast<const char*>(memory)] = bytes;
  }
  check_cuda(cudaMemset(memory, 0, bytes), "clear an arena");
  check_cuda(cudaStreamSynchronize(nullptr), "clear an arena");
  return out;
}

std::optional<size_t> cuda_arenas::place_of(const void* at) const {
  const char* wanted = static_cast<const char*>(at);
  std::lock_guard lock(book_->mutex);
  auto after = book_->bytes.upper_bound(wanted);
  if (after == book_->bytes.begin())
    return std::nullopt;
  const auto& [begin, bytes] = *std::prev(after);
  if (wanted >= begin + bytes)
    return std::nullopt;
  return size_t(wanted - begin) / sizeof(float);
}

} // namespace ballast::gpu
