#include "gpu/cuda/launch.hpp"

#include "gpu/cuda/check.hpp"

#include <algorithm>

namespace ballast::gpu {
namespace {

/// A processor holds 2,048 threads, 8 blocks; twice that, so that blocks that
/// end early leave no gap.
constexpr int most_blocks_per_processor = 16;

} // namespace

unsigned blocks_for(size_t items) {
  return blocks_for(items, threads_per_block, most_blocks_per_processor);
}

unsigned blocks_for(size_t items, int threads, int blocks_per_processor) {
  int device = 0;
  int processors = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount,
                                    device),
             "cudaDeviceGetAttribute");
  const size_t wanted = (items + size_t(threads) - 1) / size_t(threads);
  return unsigned(std::clamp<size_t>(
      wanted, 1, size_t(processors) * size_t(blocks_per_processor)));
}

void check_launch(const char* kernel) {
  check_cuda(cudaGetLastError(), kernel);
}

} // namespace ballast::gpu
