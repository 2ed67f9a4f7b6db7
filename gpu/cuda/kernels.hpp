/// Starts the kernels. Plain C++, so that callers need no CUDA header.
///
/// Each has the same bits as its CPU reference in gpu/kernels/ (or
/// gpu/optimizer.cpp). Pointers are to memory of the current device; every
/// launch is asynchronous in `stream` and throws ballast_error{device_failed}
/// if it could not be started. Arenas may begin anywhere; if all pointers of a
/// launch have the same remainder to 16 bytes, it moves 16 bytes at a time.
#pragma once

#include "gpu/kernels/gather_rows.hpp"
#include "gpu/kernels/global_norm.hpp"
#include "gpu/kernels/optimizer_rule.hpp"
#include "runtime/worker/trailer.hpp"

#include <cstddef>
#include <cstdint>

struct CUstream_st; // the target type of cudaStream_t

namespace ballast::gpu {

using cuda_stream = CUstream_st*;

// -- into the bucket (gpu/kernels/bucket_copy.hpp) ----------------------------

void launch_scale_copy(const float* from, float* to, size_t count, float weight,
                       cuda_stream stream);
/// `counts` is copied into the launch, so the caller may reuse it at once.
void launch_write_trailer(const worker::trailer& counts, const float* loss_sum,
                          float* to, cuda_stream stream);

// -- clipping (gpu/kernels/global_norm.hpp) -----------------------------------

/// *out = clip_by_norm of the arena. `pieces` is scratch: norm_pieces(count)
/// doubles that nothing else in flight uses. One launch at a time runs on a
/// device: all of them in one stream.
void launch_clip_by_norm(const float* gradients, size_t count,
                         double inverse_samples, double clip_norm,
                         double* pieces, clipped* out, cuda_stream stream);

// -- update (gpu/kernels/optimizer_rule.hpp) ----------------------------------

/// What a launch_clip_by_norm earlier in the stream found, so that the host
/// need not wait for it. With `found`, the gradient is multiplied by
/// float(found->scale) instead of by rule.gradient_scale, and nothing changes
/// unless found->worst <= largest.
struct update_gate {
  const clipped* found = nullptr;
  double largest = 0;
};
void launch_sgd(float* p, const float* g, size_t count, const sgd_rule& rule,
                const update_gate& gate, cuda_stream stream);
void launch_momentum_sgd(float* p, const float* g, float* velocity,
                         size_t count, const sgd_rule& rule,
                         const update_gate& gate, cuda_stream stream);
void launch_adam(float* p, const float* g, float* m, float* v, size_t count,
                 const adam_rule& rule, const update_gate& gate,
                 cuda_stream stream);

// -- data ---------------------------------------------------------------------

/// gpu/kernels/label_histogram.hpp: adds to counts[0 .. classes].
void launch_label_histogram(const int32_t* labels, size_t count,
                            uint32_t classes, uint64_t* counts,
                            cuda_stream stream);
/// gpu/kernels/gather_rows.hpp
void launch_gather_rows(const row_block<uint8_t>& from, const uint32_t* index,
                        size_t count, float scale, float offset, float* to,
                        cuda_stream stream);
void launch_gather_rows(const row_block<float>& from, const uint32_t* index,
                        size_t count, float scale, float offset, float* to,
                        cuda_stream stream);

} // namespace ballast::gpu
