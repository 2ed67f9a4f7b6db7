/// Kernels that reduce a whole arena: the norm of the gradients, and the number
/// of rows with each label.
#include "gpu/cuda/kernels.hpp"
#include "gpu/cuda/launch.hpp"

#include <cuda_runtime.h>

namespace ballast::gpu {
namespace {

// -- the norm -----------------------------------------------------------------
// gpu/kernels/global_norm.hpp defines the order of additions; it depends only
// on the number of elements.

/// The sum over `threads` values, one of each thread, by a tree of halving
/// distance; valid in thread 0. `shared` holds `threads` doubles.
template <int threads>
__device__ double tree_sum(double mine, double* shared) {
  const int t = int(threadIdx.x);
  shared[t] = mine;
  __syncthreads();
  for (int distance = threads / 2; distance >= 32; distance /= 2) {
    if (t < distance)
      shared[t] += shared[t + distance];
    __syncthreads();
  }
  double sum = 0;
  if (t < 32) {
    sum = shared[t];
    for (int distance = 16; distance > 0; distance /= 2)
      sum += __shfl_down_sync(0xffffffff, sum, distance);
  }
  __syncthreads(); // `shared` may be reused
  return sum;
}

__device__ double square(float x) {
  return double(x) * double(x);
}

constexpr int norm_threads = int(norm_lanes / 4);

template <bool aligned>
__global__ void __launch_bounds__(norm_threads)
    sum_pieces(const float* values, size_t count, size_t pieces, double* sums) {
  __shared__ double shared[norm_threads];
  constexpr int rows = int(norm_piece / norm_lanes);
  for (size_t piece = blockIdx.x; piece < pieces; piece += gridDim.x) {
    const size_t begin = piece * norm_piece;
    const float* mine = values + begin + 4 * threadIdx.x;
    double lanes[4] = {0, 0, 0, 0};
    if (begin + norm_piece <= count) {
#pragma unroll 8
      for (int row = 0; row < rows; ++row, mine += norm_lanes) {
        float4 x = aligned ? *reinterpret_cast<const float4*>(mine)
                           : float4{mine[0], mine[1], mine[2], mine[3]};
        lanes[0] += square(x.x);
        lanes[1] += square(x.y);
        lanes[2] += square(x.z);
        lanes[3] += square(x.w);
      }
    } else { // the last piece may be shorter
      for (size_t at = begin + 4 * threadIdx.x; at < count; at += norm_lanes)
        for (size_t k = 0; k < 4 && at + k < count; ++k)
          lanes[k] += square(values[at + k]);
    }
    const double sum = tree_sum<norm_threads>(
        (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]), shared);
    if (threadIdx.x == 0)
      sums[piece] = sum;
  }
}

__global__ void __launch_bounds__(int(norm_lanes))
    sum_of_pieces(const double* pieces, size_t count, double inverse_samples,
                  double clip_norm, clipped* out) {
  __shared__ double shared[norm_lanes];
  double mine = 0;
  for (size_t piece = threadIdx.x; piece < count; piece += norm_lanes)
    mine += pieces[piece];
  const double sum = tree_sum<int(norm_lanes)>(mine, shared);
  if (threadIdx.x == 0)
    *out = clip_by_norm(sum, inverse_samples, clip_norm);
}

// -- labels -------------------------------------------------------------------

/// Counters of one block: each class has `copies` of them, and a thread uses
/// the one of its lane, so that the threads of a warp rarely collide.
constexpr size_t histogram_bytes_max = 48 * 1024;
constexpr uint32_t histogram_copies_max = 32;
/// Groups of four labels that a thread loads before it counts the first.
constexpr int histogram_groups = 4;

__device__ void count_label(int32_t label, uint32_t classes, uint32_t copies,
                            uint32_t* counters) {
  const uint32_t bin = min(uint32_t(label), classes);
  atomicAdd(&counters[bin * copies + (threadIdx.x & (copies - 1))], 1u);
}

__global__ void __launch_bounds__(threads_per_block)
    histogram_in_block(const int32_t* labels, size_t head, size_t fours,
                       size_t count, uint32_t classes, uint32_t copies,
                       uint64_t* counts) {
  extern __shared__ uint32_t counters[];
  const uint32_t bins = classes + 1;
  for (uint32_t i = threadIdx.x; i < bins * copies; i += blockDim.x)
    counters[i] = 0;
  __syncthreads();
  const size_t first = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const size_t step = size_t(gridDim.x) * blockDim.x;
  for (size_t four = first; four < fours; four += step * histogram_groups) {
    int4 held[histogram_groups];
#pragma unroll
    for (int k = 0; k < histogram_groups; ++k)
      if (four + k * step < fours)
        held[k] = *reinterpret_cast<const int4*>(labels + head +
                                                 4 * (four + k * step));
#pragma unroll
    for (int k = 0; k < histogram_groups; ++k)
      if (four + k * step < fours) {
        count_label(held[k].x, classes, copies, counters);
        count_label(held[k].y, classes, copies, counters);
        count_label(held[k].z, classes, copies, counters);
        count_label(held[k].w, classes, copies, counters);
      }
  }
  for (size_t i = first; i < head; i += step)
    count_label(labels[i], classes, copies, counters);
  for (size_t i = head + 4 * fours + first; i < count; i += step)
    count_label(labels[i], classes, copies, counters);
  __syncthreads();
  for (uint32_t bin = threadIdx.x; bin < bins; bin += blockDim.x) {
    unsigned long long sum = 0;
    for (uint32_t copy = 0; copy < copies; ++copy)
      sum += counters[bin * copies + (copy + threadIdx.x) % copies];
    if (sum > 0)
      atomicAdd(reinterpret_cast<unsigned long long*>(&counts[bin]), sum);
  }
}

/// With more classes than fit into a block's memory, few labels collide in one
/// counter.
__global__ void __launch_bounds__(threads_per_block)
    histogram_in_memory(const int32_t* labels, size_t count, uint32_t classes,
                        uint64_t* counts) {
  const size_t step = size_t(gridDim.x) * blockDim.x;
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step)
    atomicAdd(reinterpret_cast<unsigned long long*>(
                  &counts[min(uint32_t(labels[i]), classes)]),
              1ull);
}

} // namespace

void launch_clip_by_norm(const float* gradients, size_t count,
                         double inverse_samples, double clip_norm,
                         double* pieces, clipped* out, cuda_stream stream) {
  const size_t found = norm_pieces(count);
  const unsigned blocks = blocks_for(found * norm_threads);
  if (reinterpret_cast<size_t>(gradients) % sizeof(float4) == 0)
    sum_pieces<true>
        <<<blocks, norm_threads, 0, stream>>>(gradients, count, found, pieces);
  else
    sum_pieces<false>
        <<<blocks, norm_threads, 0, stream>>>(gradients, count, found, pieces);
  check_launch("clip_by_norm, pieces");
  sum_of_pieces<<<1, int(norm_lanes), 0, stream>>>(
      pieces, found, inverse_samples, clip_norm, out);
  check_launch("clip_by_norm, sum");
}

void launch_label_histogram(const int32_t* labels, size_t count,
                            uint32_t classes, uint64_t* counts,
                            cuda_stream stream) {
  if (count == 0)
    return;
  const size_t copy_bytes = (size_t(classes) + 1) * sizeof(uint32_t);
  if (copy_bytes > histogram_bytes_max) {
    histogram_in_memory<<<blocks_for(count), threads_per_block, 0, stream>>>(
        labels, count, classes, counts);
    check_launch("label_histogram, many classes");
    return;
  }
  uint32_t copies = histogram_copies_max;
  while (copies * copy_bytes > histogram_bytes_max)
    copies /= 2;
  size_t head = (16 - reinterpret_cast<size_t>(labels) % 16) % 16 / 4;
  if (head > count)
    head = count;
  const size_t fours = (count - head) / 4;
  // A block clears and sums its counters: give it enough labels for that cost.
  const size_t worth = copies * (size_t(classes) + 1);
  const size_t items = fours < worth ? 1 : fours / histogram_groups + 1;
  histogram_in_block<<<blocks_for(items), threads_per_block,
                       copies * copy_bytes, stream>>>(
      labels, head, fours, count, classes, copies, counts);
  check_launch("label_histogram");
}

} // namespace ballast::gpu
