/// Kernels that compute each element by itself: copies into the bucket, the
/// optimizers, the gathering of a batch. All are bound by memory bandwidth:
/// they need wide accesses with many in flight.
#include "gpu/cuda/kernels.hpp"
#include "gpu/cuda/launch.hpp"

#include <algorithm>
#include <bit>
#include <cuda_runtime.h>

namespace ballast::gpu {
namespace {

// -- one loop for all ---------------------------------------------------------

/// An arena as elements before the first 16-byte boundary, groups of four, and
/// the rest. Without a common boundary everything is `head`.
struct split {
  size_t head;
  size_t fours;
  size_t count;
};

template <class... Pointers>
split split_at_boundary(size_t count, Pointers... pointers) {
  const size_t remainders[] = {reinterpret_cast<size_t>(pointers) % 16 ...};
  for (size_t r : remainders)
    if (r != remainders[0])
      return {count, 0, count};
  size_t head = (16 - remainders[0]) % 16 / sizeof(float);
  if (head > count)
    head = count;
  return {head, (count - head) / 4, count};
}

/// Op: `begin()` says whether there is anything to do; `element(i)` processes
/// one; `load(i)` and `store(i, loaded)` process four from i on, and `groups`
/// of them are loaded before the first is stored.
template <class Op>
__global__ void __launch_bounds__(threads_per_block)
    for_each_element(Op op, split range) {
  if (!op.begin())
    return;
  const size_t first = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const size_t step = size_t(gridDim.x) * blockDim.x;
  for (size_t four = first; four < range.fours; four += step * Op::groups) {
    typename Op::loaded held[Op::groups];
#pragma unroll
    for (int k = 0; k < Op::groups; ++k)
      if (four + k * step < range.fours)
        held[k] = op.load(range.head + 4 * (four + k * step));
#pragma unroll
    for (int k = 0; k < Op::groups; ++k)
      if (four + k * step < range.fours)
        op.store(range.head + 4 * (four + k * step), held[k]);
  }
  for (size_t i = first; i < range.head; i += step)
    op.element(i);
  for (size_t i = range.head + 4 * range.fours + first; i < range.count;
       i += step)
    op.element(i);
}

template <class Op>
void launch(const Op& op, split range, const char* name, cuda_stream stream) {
  if (range.count == 0)
    return;
  const size_t items = range.fours > 0
                           ? (range.fours + Op::groups - 1) / Op::groups
                           : range.count;
  for_each_element<<<blocks_for(items), threads_per_block, 0, stream>>>(op,
                                                                        range);
  check_launch(name);
}

__device__ float4 four_at(const float* from, size_t i) {
  return *reinterpret_cast<const float4*>(from + i);
}
__device__ void put_four(float* to, size_t i, float4 x) {
  // An assignment may become four stores of one value each.
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to + i),
               "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w)
               : "memory");
}

// -- into the bucket ----------------------------------------------------------

struct scale_copy_op {
  static constexpr int groups = 4;
  using loaded = float4;
  const float* from;
  float* to;
  float weight;

  __device__ bool begin() { return true; }
  __device__ void element(size_t i) const { to[i] = from[i] * weight; }
  __device__ float4 load(size_t i) const { return four_at(from, i); }
  __device__ void store(size_t i, float4 x) const {
    put_four(to, i, {x.x * weight, x.y * weight, x.z * weight, x.w * weight});
  }
};

struct trailer_values {
  float values[worker::trailer::floats];
};

__global__ void write_trailer_kernel(trailer_values counts,
                                     const float* loss_sum, float* to) {
  const unsigned i = threadIdx.x;
  if (i < worker::trailer::floats)
    to[i] = i == worker::trailer::loss_sum_at && loss_sum ? *loss_sum
                                                          : counts.values[i];
}

// -- optimizers ---------------------------------------------------------------

/// Takes the scale from the device, if there is one; false: the gradient must
/// not be applied.
template <class Rule>
__device__ bool pass_gate(Rule& rule, const update_gate& gate) {
  if (!gate.found)
    return true;
  rule.gradient_scale = float(gate.found->scale);
  return gate.found->worst <= gate.largest; // false for NaN
}

struct sgd_op {
  static constexpr int groups = 2;
  struct loaded {
    float4 p, g;
  };
  float* p;
  const float* g;
  sgd_rule rule;
  update_gate gate;

  __device__ bool begin() { return pass_gate(rule, gate); }
  __device__ void element(size_t i) const {
    p[i] = sgd_update(p[i], g[i], rule);
  }
  __device__ loaded load(size_t i) const {
    return {four_at(p, i), four_at(g, i)};
  }
  __device__ void store(size_t i, const loaded& at) const {
    put_four(
        p, i,
        {sgd_update(at.p.x, at.g.x, rule), sgd_update(at.p.y, at.g.y, rule),
         sgd_update(at.p.z, at.g.z, rule), sgd_update(at.p.w, at.g.w, rule)});
  }
};

struct momentum_op {
  static constexpr int groups = 2;
  struct loaded {
    float4 p, g, velocity;
  };
  float* p;
  const float* g;
  float* velocity;
  sgd_rule rule;
  update_gate gate;

  __device__ bool begin() { return pass_gate(rule, gate); }
  __device__ void element(size_t i) const {
    const momentum_values next =
        momentum_update({p[i], velocity[i]}, g[i], rule);
    p[i] = next.p;
    velocity[i] = next.velocity;
  }
  __device__ loaded load(size_t i) const {
    return {four_at(p, i), four_at(g, i), four_at(velocity, i)};
  }
  __device__ void store(size_t i, const loaded& at) const {
    const momentum_values x =
        momentum_update({at.p.x, at.velocity.x}, at.g.x, rule);
    const momentum_values y =
        momentum_update({at.p.y, at.velocity.y}, at.g.y, rule);
    const momentum_values z =
        momentum_update({at.p.z, at.velocity.z}, at.g.z, rule);
    const momentum_values w =
        momentum_update({at.p.w, at.velocity.w}, at.g.w, rule);
    put_four(p, i, {x.p, y.p, z.p, w.p});
    put_four(velocity, i, {x.velocity, y.velocity, z.velocity, w.velocity});
  }
};

struct adam_op {
  static constexpr int groups = 2;
  struct loaded {
    float4 p, g, m, v;
  };
  float* p;
  const float* g;
  float* m;
  float* v;
  adam_rule rule;
  update_gate gate;

  __device__ bool begin() { return pass_gate(rule, gate); }
  __device__ void element(size_t i) const {
    const adam_values next = adam_update({p[i], m[i], v[i]}, g[i], rule);
    p[i] = next.p;
    m[i] = next.m;
    v[i] = next.v;
  }
  __device__ loaded load(size_t i) const {
    return {four_at(p, i), four_at(g, i), four_at(m, i), four_at(v, i)};
  }
  __device__ void store(size_t i, const loaded& at) const {
    const adam_values x = adam_update({at.p.x, at.m.x, at.v.x}, at.g.x, rule);
    const adam_values y = adam_update({at.p.y, at.m.y, at.v.y}, at.g.y, rule);
    const adam_values z = adam_update({at.p.z, at.m.z, at.v.z}, at.g.z, rule);
    const adam_values w = adam_update({at.p.w, at.m.w, at.v.w}, at.g.w, rule);
    put_four(p, i, {x.p, y.p, z.p, w.p});
    put_four(m, i, {x.m, y.m, z.m, w.m});
    put_four(v, i, {x.v, y.v, z.v, w.v});
  }
};

// -- the gathering of a batch -------------------------------------------------

/// In one register: of a uchar4, each byte would wait for the load in one of
/// its own, and with it the next load.
struct four_bytes {
  uint32_t packed;
};

__device__ float4 as_floats(four_bytes x) {
  return {float(x.packed & 0xff), float(x.packed >> 8 & 0xff),
          float(x.packed >> 16 & 0xff), float(x.packed >> 24)};
}
__device__ float4 as_floats(float4 x) {
  return x;
}
__device__ float as_floats(float x) {
  return x;
}
__device__ float as_floats(uint8_t x) {
  return float(x);
}
__device__ float normalised(float x, float scale, float offset) {
  return x * scale + offset;
}
__device__ float4 normalised(float4 x, float scale, float offset) {
  return {x.x * scale + offset, x.y * scale + offset, x.z * scale + offset,
          x.w * scale + offset};
}
__device__ void set_nan(float& x) {
  x = __int_as_float(0x7fc00000);
}
__device__ void set_nan(float4& x) {
  x = {__int_as_float(0x7fc00000), __int_as_float(0x7fc00000),
       __int_as_float(0x7fc00000), __int_as_float(0x7fc00000)};
}

__device__ void put(float* to, float x) {
  *to = x;
}
__device__ void put(float4* to, float4 x) {
  put_four(reinterpret_cast<float*>(to), 0, x);
}

constexpr uint32_t gather_lanes = 32; // that share a row, if it is wide enough
constexpr uint32_t gather_groups = 4; // loads of a thread that are in flight

/// From, To: one value or four. `width` of them make a row. The lanes of a
/// block (x) lie along a row, blocks (x) cover it; rows lie along y of both. So
/// no thread has to divide to find its row.
template <class From, class To>
__global__ void __launch_bounds__(threads_per_block)
    gather_rows_kernel(const From* from, uint32_t rows, uint32_t width,
                       const uint32_t* index, size_t count, float scale,
                       float offset, To* to) {
  constexpr uint32_t groups = gather_groups;
  const uint32_t lanes = blockDim.x;
  const uint32_t begin = blockIdx.x * (lanes * groups);
  const uint32_t left = width - begin;
  from += begin;
  to += begin;
  for (size_t i = size_t(blockIdx.y) * blockDim.y + threadIdx.y; i < count;
       i += size_t(gridDim.y) * blockDim.y) {
    const uint32_t row = __ldg(index + i);
    To* target = to + i * width + threadIdx.x;
    if (row >= rows) {
      To nan;
      set_nan(nan);
      for (uint32_t k = 0; k < groups; ++k)
        if (threadIdx.x + k * lanes < left)
          put(target + k * lanes, nan);
      continue;
    }
    const From* source = from + size_t(row) * width + threadIdx.x;
    From held[groups];
#pragma unroll
    for (uint32_t k = 0; k < groups; ++k)
      if (threadIdx.x + k * lanes < left)
        held[k] = source[k * lanes];
#pragma unroll
    for (uint32_t k = 0; k < groups; ++k)
      if (threadIdx.x + k * lanes < left)
        put(target + k * lanes, normalised(as_floats(held[k]), scale, offset));
  }
}

template <class From, class To>
void launch_gather(const From* from, uint32_t rows, uint32_t width,
                   const uint32_t* index, size_t count, float scale,
                   float offset, To* to, cuda_stream stream) {
  if (count == 0 || width == 0)
    return;
  const uint32_t lanes = std::min(std::bit_ceil(width), gather_lanes);
  const uint32_t rows_at_once = threads_per_block / lanes;
  const uint32_t columns_at_once = lanes * gather_groups;
  constexpr size_t blocks_max = 65535; // along y
  const dim3 blocks(
      (width - 1) / columns_at_once + 1,
      unsigned(std::min((count - 1) / rows_at_once + 1, blocks_max)));
  gather_rows_kernel<<<blocks, dim3(lanes, rows_at_once), 0, stream>>>(
      from, rows, width, index, count, scale, offset, to);
  check_launch("gather_rows");
}

/// True if rows consist of groups of four aligned values at both ends.
bool in_fours(const void* from, size_t group_bytes, uint32_t features,
              const float* to) {
  return features % 4 == 0 &&
         reinterpret_cast<size_t>(from) % group_bytes == 0 &&
         reinterpret_cast<size_t>(to) % sizeof(float4) == 0;
}

/// Four values at a time if their addresses allow it.
template <class Four, class Value>
void launch_gather_by(const row_block<Value>& from, const uint32_t* index,
                      size_t count, float scale, float offset, float* to,
                      cuda_stream stream) {
  if (in_fours(from.values, sizeof(Four), from.features, to))
    launch_gather(reinterpret_cast<const Four*>(from.values), from.rows,
                  from.features / 4, index, count, scale, offset,
                  reinterpret_cast<float4*>(to), stream);
  else
    launch_gather(from.values, from.rows, from.features, index, count, scale,
                  offset, to, stream);
}

} // namespace

void launch_scale_copy(const float* from, float* to, size_t count, float weight,
                       cuda_stream stream) {
  launch(scale_copy_op{from, to, weight}, split_at_boundary(count, from, to),
         "scale_copy", stream);
}

void launch_write_trailer(const worker::trailer& counts, const float* loss_sum,
                          float* to, cuda_stream stream) {
  trailer_values values;
  for (size_t i = 0; i < worker::trailer::floats; ++i)
    values.values[i] = counts.data()[i];
  write_trailer_kernel<<<1, 32, 0, stream>>>(values, loss_sum, to);
  check_launch("write_trailer");
}

void launch_sgd(float* p, const float* g, size_t count, const sgd_rule& rule,
                const update_gate& gate, cuda_stream stream) {
  launch(sgd_op{p, g, rule, gate}, split_at_boundary(count, p, g), "sgd",
         stream);
}

void launch_momentum_sgd(float* p, const float* g, float* velocity,
                         size_t count, const sgd_rule& rule,
                         const update_gate& gate, cuda_stream stream) {
  launch(momentum_op{p, g, velocity, rule, gate},
         split_at_boundary(count, p, g, velocity), "momentum_sgd", stream);
}

void launch_adam(float* p, const float* g, float* m, float* v, size_t count,
                 const adam_rule& rule, const update_gate& gate,
                 cuda_stream stream) {
  launch(adam_op{p, g, m, v, rule, gate}, split_at_boundary(count, p, g, m, v),
         "adam", stream);
}

void launch_gather_rows(const row_block<uint8_t>& from, const uint32_t* index,
                        size_t count, float scale, float offset, float* to,
                        cuda_stream stream) {
  launch_gather_by<four_bytes>(from, index, count, scale, offset, to, stream);
}

void launch_gather_rows(const row_block<float>& from, const uint32_t* index,
                        size_t count, float scale, float offset, float* to,
                        cuda_stream stream) {
  launch_gather_by<float4>(from, index, count, scale, offset, to, stream);
}

} // namespace ballast::gpu
