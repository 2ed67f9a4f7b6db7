#include "gpu/cuda/cuda_device.hpp"

#include "gpu/cuda/check.hpp"
#include "gpu/cuda/cuda_arena.hpp"
#include "gpu/cuda/cuda_optimizer.hpp"
#include "gpu/cuda/input_slot.hpp"

#include <deque>
#include <mutex>

namespace ballast::gpu {
namespace {

class cuda_device final : public compute_device {
public:
  explicit cuda_device(int index) : index_(index), arenas_(index) {
    use();
    check_cuda(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking),
               "cudaStreamCreate");
    for (input_slot& one : slots_)
      one.open();
  }
  ~cuda_device() override {
    cudaSetDevice(index_);
    for (input_slot& one : slots_)
      one.close();
    for (cudaEvent_t one : marks_)
      cudaEventDestroy(one);
    if (copies_)
      cudaStreamDestroy(copies_);
  }

  std::string name() const override { return "cuda:" + std::to_string(index_); }
  model_place place() const override {
    return {.elsewhere = true, .cuda = index_};
  }
  std::string bus() const override {
    char out[32] = {};
    check_cuda(cudaDeviceGetPCIBusId(out, sizeof out, index_),
               "cudaDeviceGetPCIBusId");
    return out;
  }

  std::shared_ptr<float[]> allocate(size_t floats,
                                    collectives::collective_backend&) override {
    return arenas_.allocate(floats, make_room_);
  }
  std::optional<size_t> place_in_arena(const void* at) const override {
    return arenas_.place_of(at);
  }
  void clear(float* to, size_t count) override {
    use();
    check_cuda(cudaMemsetAsync(to, 0, count * sizeof(float), nullptr),
               "clear gradients");
  }
  void upload(float* to, const float* from, size_t count) override {
    copy(to, from, count, cudaMemcpyHostToDevice, "copy to the device");
  }
  void download(float* to, const float* from, size_t count) override {
    copy(to, from, count, cudaMemcpyDeviceToHost, "copy from the device");
  }
  std::shared_ptr<float[]> pin(std::shared_ptr<float[]> memory,
                               size_t floats) override {
    use();
    void* begin = memory.get();
    if (cudaHostRegister(begin, floats * sizeof(float),
                         cudaHostRegisterDefault) != cudaSuccess) {
      cudaGetLastError(); // only makes copies slower
      return memory;
    }
    return {memory.get(), [memory, begin, index = index_](float*) mutable {
              cudaSetDevice(index); // any thread may drop it
              cudaHostUnregister(begin);
              memory.reset();
            }};
  }

  void when_full(std::function<void()> make_room) override {
    make_room_ = std::move(make_room);
  }

  std::unique_ptr<optimizer>
  make_optimizer(const optimizer_spec& spec, size_t count,
                 collectives::collective_backend&) override {
    use();
    return make_cuda_optimizer(spec, count, index_, [this](size_t floats) {
      return arenas_.allocate(floats, make_room_);
    });
  }

  batch_view bring(size_t slot, const batch_view& rows,
                   uint32_t features) override {
    use();
    return slots_[slot].bring(rows, features, make_room_);
  }

  void mark(size_t bucket) override {
    use();
    check_cuda(cudaEventRecord(event_of(bucket), nullptr), "mark a bucket");
  }
  void await(size_t bucket) override {
    use();
    check_cuda(cudaEventSynchronize(event_of(bucket)), "a backward pass");
  }
  void finish() override {
    use();
    check_cuda(cudaStreamSynchronize(nullptr), "a step");
  }

private:
  /// CUDA's current device is a property of the calling thread.
  void use() const { check_cuda(cudaSetDevice(index_), "cudaSetDevice"); }

  void copy(void* to, const void* from, size_t count, cudaMemcpyKind kind,
            const char* what) {
    use();
    check_cuda(cudaMemcpyAsync(to, from, count * sizeof(float), kind, copies_),
               what);
    check_cuda(cudaStreamSynchronize(copies_), what);
  }

  /// Waiting for it blocks instead of spinning.
  cudaEvent_t event_of(size_t bucket) {
    std::lock_guard lock(mutex_);
    while (marks_.size() <= bucket) {
      cudaEvent_t made = nullptr;
      check_cuda(cudaEventCreateWithFlags(&made, cudaEventDisableTiming |
                                                     cudaEventBlockingSync),
                 "cudaEventCreate");
      marks_.push_back(made);
    }
    return marks_[bucket];
  }

  const int index_;
  cuda_arenas arenas_;
  std::function<void()> make_room_;
  cudaStream_t copies_ = nullptr;
  input_slot slots_[slots];
  std::mutex mutex_; // guards the following members
  std::deque<cudaEvent_t> marks_;
};

} // namespace

std::unique_ptr<compute_device> make_cuda_device(int index) {
  return std::make_unique<cuda_device>(index);
}

} // namespace ballast::gpu
