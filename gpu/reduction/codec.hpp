/// A way to send values shortened: what each rank sends, and how the sum over
/// all ranks is made of it, with equal bits on every rank. One object per
/// reduction; its memory is kept from bucket to bucket.
///
/// Thread: as bucket_sum.
#pragma once

#include "collectives/collective.hpp"
#include "gpu/reduction/compressed_parts.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/job/job.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace ballast::gpu {

/// The ranks among which values are exchanged, and when.
struct exchange_among {
  collectives::collective& group;
  collectives::deadline until;
  uint64_t key = 0; // of seed, step and bucket: equal on all ranks
  step_number step{};
};

class codec {
public:
  virtual ~codec() = default;
  /// A generation begins: what ranks have in common from former steps is what a
  /// newcomer has, nothing.
  virtual void begin_generation() {}
  /// `values`: the `count` compressed ones of a bucket, packed. They become the
  /// decoded sum over all ranks; `left`: what this rank's part of it lacks, so
  /// that over all ranks sums and what is left are what there was. Throws
  /// collective_error.
  virtual void exchange(size_t bucket, float* values, float* left, size_t count,
                        const exchange_among& how) = 0;
};

/// Not of kind `none`; `automatic` is int8. `parts` outlives it.
std::unique_ptr<codec> make_codec(const train_spec& how, uint64_t seed,
                                  const compressed_parts& parts);

std::unique_ptr<codec> make_bfloat16_codec();
std::unique_ptr<codec> make_int8_codec();
/// `ratio`: the part of a bucket's values that is sent, after so many steps.
std::unique_ptr<codec> make_topk_codec(double ratio, uint64_t warmup_steps);
std::unique_ptr<codec> make_powersgd_codec(uint64_t seed,
                                           const compressed_parts& parts);

} // namespace ballast::gpu
