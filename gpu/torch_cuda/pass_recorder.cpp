// The only code that is compiled with LibTorch's CUDA headers. Its symbols are
// those of libtorch_cuda.so, which must be open when this is opened.
#include "gpu/torch/pass_recorder.hpp"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace ballast::gpu {
namespace {

class cuda_graph final : public recorded_pass {
public:
  void replay() override { graph.replay(); }
  at::cuda::CUDAGraph graph;
};

class cuda_pass_recorder final : public pass_recorder {
public:
  explicit cuda_pass_recorder(int device)
      : stream_(c10::cuda::getStreamFromPool(false, c10::DeviceIndex(device))),
        pool_(at::cuda::graph_pool_handle()) {}

  std::unique_ptr<recorded_pass>
  record(const std::function<void()>& pass) override {
    auto out = std::make_unique<cuda_graph>();
    const c10::cuda::CUDAStreamGuard side(stream_);
    // Other threads, which bring batches and reduce buckets, go on meanwhile.
    out->graph.capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
    try {
      pass();
    } catch (...) {
      try {
        out->graph.capture_end();
      } catch (const c10::Error&) { // the pass has broken the recording
      }
      throw;
    }
    out->graph.capture_end();
    return out;
  }

private:
  // The default stream cannot be recorded. The same one every time: LibTorch
  // keeps a workspace for each that it has used.
  c10::cuda::CUDAStream stream_;
  at::cuda::MempoolId_t pool_;
};

} // namespace
} // namespace ballast::gpu

extern "C" __attribute__((visibility("default"))) ballast::gpu::pass_recorder*
ballast_make_pass_recorder(int device) {
  using namespace ballast;
  static_assert(std::is_same_v<decltype(ballast_make_pass_recorder),
                               gpu::pass_recorder_maker>);
  return new gpu::cuda_pass_recorder(device);
}
