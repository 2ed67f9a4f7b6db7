/// An array in the memory of the device that was current at construction.
/// Copies are synchronous, and wait for the kernels of the default stream.
#pragma once

#include "gpu/cuda/check.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace ballast::gpu {

template <class T>
class device_memory {
public:
  /// Uninitialised. Throws ballast_error{device_failed}, also if there is not
  /// enough memory.
  explicit device_memory(size_t count) : count_(count) {
    if (count > 0)
      check_cuda(cudaMalloc(reinterpret_cast<void**>(&data_), bytes(count)),
                 "cudaMalloc");
  }
  explicit device_memory(const std::vector<T>& values)
      : device_memory(values.size()) {
    upload(values.data(), values.size());
  }
  device_memory(device_memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(other.count_) {}
  device_memory(const device_memory&) = delete;
  device_memory& operator=(const device_memory&) = delete;
  ~device_memory() { cudaFree(data_); }

  T* data() { return data_; }
  size_t size() const { return count_; }

  void upload(const T* from, size_t count) {
    if (count > 0)
      check_cuda(cudaMemcpy(data_, from, bytes(count), cudaMemcpyHostToDevice),
                 "copy to the device");
  }
  void download(T* to, size_t count) const {
    if (count > 0)
      check_cuda(cudaMemcpy(to, data_, bytes(count), cudaMemcpyDeviceToHost),
                 "copy from the device");
  }
  std::vector<T> values() const {
    std::vector<T> out(count_);
    download(out.data(), count_);
    return out;
  }

private:
  static size_t bytes(size_t count) { return count * sizeof(T); }

  T* data_ = nullptr;
  size_t count_;
};

} // namespace ballast::gpu
