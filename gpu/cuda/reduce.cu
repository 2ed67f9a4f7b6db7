/// Kernels that reduce a whole arena: the norm of the gradients, and the number
/// of rows with each label.
#include "gpu/cuda/kernels.hpp"
#include "gpu/cuda/launch.hpp"

#include <algorithm>
#include <cuda_runtime.h>

namespace ballast::gpu {
namespace {

// -- the norm -----------------------------------------------------------------
// gpu/kernels/global_norm.hpp defines the order of additions; it depends only
// on the number of elements.

constexpr int norm_threads = int(norm_lanes / 4);
constexpr int norm_rows = int(norm_piece / norm_lanes);

/// Blocks on a processor: few, so that a thread has the registers to load many
/// of its rows before it adds up the first.
constexpr int norm_blocks = 4;

/// The sum over one value of each of the block's threads, by a tree of halving
/// distance; valid in thread 0. `shared` is free again once thread 0 has met
/// the others.
__device__ double tree_sum(double mine, double (&shared)[norm_threads]) {
  constexpr int warps = norm_threads / 32;
  shared[threadIdx.x] = mine;
  __syncthreads();
  if (threadIdx.x >= 32)
    return 0;
  // The first warp alone, from registers: the others need not wait for it.
  double sums[warps];
#pragma unroll
  for (int i = 0; i < warps; ++i)
    sums[i] = shared[32 * i + threadIdx.x];
#pragma unroll
  for (int distance = warps / 2; distance > 0; distance /= 2)
#pragma unroll
    for (int i = 0; i < distance; ++i)
      sums[i] += sums[i + distance];
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    sums[0] += __shfl_down_sync(0xffffffff, sums[0], distance);
  return sums[0];
}

/// sum + x * x. The product is exact, so fusing changes nothing.
__device__ double plus_square(double sum, float x) {
  return fma(double(x), double(x), sum);
}

/// Blocks of the running launch that have ended; the last one sets it back.
/// Only one launch at a time may run on a device.
__device__ unsigned ended_blocks = 0;

/// True in the last block of a launch to come here, which then sees what the
/// calling threads of the others wrote before.
__device__ bool is_last_to_end() {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(&ended_blocks), "r"(gridDim.x - 1)
               : "memory");
  return before == gridDim.x - 1;
}

/// A block for each piece. The last one adds the pieces, so that no second
/// launch follows.
template <bool aligned>
__global__ void __launch_bounds__(norm_threads, norm_blocks)
    norm_of_pieces(const float* values, size_t count, double* sums,
                   double inverse_samples, double clip_norm, clipped* out) {
  __shared__ double shared[norm_threads];
  __shared__ bool last;
  const size_t begin = blockIdx.x * norm_piece;
  double lanes[4] = {0, 0, 0, 0};
  if (begin + norm_piece <= count) {
    const float* mine = values + begin + 4 * threadIdx.x;
    float4 held[norm_rows];
#pragma unroll
    for (int row = 0; row < norm_rows; ++row, mine += norm_lanes)
      held[row] = aligned ? *reinterpret_cast<const float4*>(mine)
                          : float4{mine[0], mine[1], mine[2], mine[3]};
#pragma unroll
    for (int row = 0; row < norm_rows; ++row) {
      lanes[0] = plus_square(lanes[0], held[row].x);
      lanes[1] = plus_square(lanes[1], held[row].y);
      lanes[2] = plus_square(lanes[2], held[row].z);
      lanes[3] = plus_square(lanes[3], held[row].w);
    }
  } else { // the last piece may be shorter
    for (size_t at = begin + 4 * threadIdx.x; at < count; at += norm_lanes)
      for (size_t k = 0; k < 4 && at + k < count; ++k)
        lanes[k] = plus_square(lanes[k], values[at + k]);
  }
  double sum = tree_sum((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]), shared);
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
    last = is_last_to_end();
  }
  __syncthreads();
  if (!last)
    return;
  // Four lanes of 1,024 in each thread: the tree's first two levels.
  const unsigned pieces = gridDim.x;
  constexpr unsigned rows_at_once = 4;
  double of_pieces[4] = {0, 0, 0, 0};
#pragma unroll 1
  for (unsigned at = threadIdx.x; at < pieces;
       at += rows_at_once * unsigned(norm_lanes)) {
    double held[rows_at_once][4];
#pragma unroll
    for (unsigned row = 0; row < rows_at_once; ++row)
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) {
        const unsigned piece =
            at + row * unsigned(norm_lanes) + k * unsigned(norm_threads);
        // No sum is -0, so that adding 0 changes none.
        held[row][k] = piece < pieces ? __ldcg(sums + piece) : 0;
      }
#pragma unroll
    for (unsigned row = 0; row < rows_at_once; ++row)
#pragma unroll
      for (unsigned k = 0; k < 4; ++k)
        of_pieces[k] += held[row][k];
  }
  sum = tree_sum((of_pieces[0] + of_pieces[2]) + (of_pieces[1] + of_pieces[3]),
                 shared);
  if (threadIdx.x == 0)
    *out = clip_by_norm(sum, inverse_samples, clip_norm);
}

// -- labels -------------------------------------------------------------------

/// Counters of one block: each class has `copies` of them, and a thread uses
/// the one of its lane, so that the threads of a warp rarely collide.
constexpr size_t histogram_bytes_max = 48 * 1024;
constexpr uint32_t histogram_copies_max = 32;
/// A block clears its counters and adds them up: as few as there are
/// processors, all of them running at once. Groups of four labels that a thread
/// loads while it counts as many.
constexpr int histogram_threads = 1024;
constexpr int histogram_blocks = 1; // on a processor
constexpr int histogram_groups = 4;

struct held_labels {
  int4 fours[histogram_groups];
};

/// Those of the groups at, at + step, ... that are below `end`.
__device__ held_labels labels_at(const int4* from, size_t at, size_t step,
                                 size_t end) {
  held_labels held;
#pragma unroll
  for (int k = 0; k < histogram_groups; ++k)
    if (at + k * step < end)
      held.fours[k] = from[at + k * step];
  return held;
}

/// `mine`: the thread's copy of the first class's counter.
__device__ void count_label(int32_t label, uint32_t classes, uint32_t copies,
                            uint32_t* mine) {
  atomicAdd(&mine[min(uint32_t(label), classes) * copies], 1u);
}

__global__ void __launch_bounds__(histogram_threads, histogram_blocks)
    histogram_in_block(const int32_t* labels, size_t head, size_t fours,
                       size_t count, uint32_t classes, uint32_t copies,
                       uint64_t* counts) {
  extern __shared__ uint32_t counters[];
  uint32_t* const mine = counters + (threadIdx.x & (copies - 1));
  const uint32_t bins = classes + 1;
  const size_t first = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const size_t step = size_t(gridDim.x) * blockDim.x;
  const int4* groups = reinterpret_cast<const int4*>(labels + head);
  // Loads are in flight while the counters are cleared, and while the labels
  // before them are counted.
  held_labels next = labels_at(groups, first, step, fours);
  for (uint32_t i = threadIdx.x; i < bins * copies; i += blockDim.x)
    counters[i] = 0;
  __syncthreads();
  for (size_t four = first; four < fours; four += step * histogram_groups) {
    const held_labels held = next;
    next = labels_at(groups, four + step * histogram_groups, step, fours);
#pragma unroll
    for (int k = 0; k < histogram_groups; ++k)
      if (four + k * step < fours) {
        count_label(held.fours[k].x, classes, copies, mine);
        count_label(held.fours[k].y, classes, copies, mine);
        count_label(held.fours[k].z, classes, copies, mine);
        count_label(held.fours[k].w, classes, copies, mine);
      }
  }
  for (size_t i = first; i < head; i += step)
    count_label(labels[i], classes, copies, mine);
  for (size_t i = head + 4 * fours + first; i < count; i += step)
    count_label(labels[i], classes, copies, mine);
  __syncthreads();
  for (uint32_t bin = threadIdx.x; bin < bins; bin += blockDim.x) {
    unsigned long long sum = 0;
    for (uint32_t copy = 0; copy < copies; ++copy)
      sum += counters[bin * copies + ((copy + threadIdx.x) & (copies - 1))];
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
  const bool aligned =
      reinterpret_cast<size_t>(gradients) % sizeof(float4) == 0;
  const auto kernel = aligned ? norm_of_pieces<true> : norm_of_pieces<false>;
  kernel<<<unsigned(norm_pieces(count)), norm_threads, 0, stream>>>(
      gradients, count, pieces, inverse_samples, clip_norm, out);
  check_launch("clip_by_norm");
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
  // At least as many labels for a block as it has counters.
  const size_t worth =
      std::max<size_t>(4 * fours / (copies * (classes + 1)), 1);
  const unsigned blocks =
      unsigned(std::min<size_t>(blocks_for(fours / histogram_groups + 1,
                                           histogram_threads, histogram_blocks),
                                worth));
  histogram_in_block<<<blocks, histogram_threads, copies * copy_bytes,
                       stream>>>(labels, head, fours, count, classes, copies,
                                 counts);
  check_launch("label_histogram");
}

} // namespace ballast::gpu
