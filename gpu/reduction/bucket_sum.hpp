/// How the gradients of a bucket become their sum over all ranks, where that is
/// not one all-reduce of them as they are.
///
/// Thread: the one that reduces buckets, one after another in layout order; not
/// always the same (bucket_reducer.hpp).
#pragma once

#include "collectives/collective.hpp"

#include <cstddef>

namespace ballast::gpu {

class bucket_sum {
public:
  virtual ~bucket_sum() = default;
  /// `gradients`: the arena of the step, whose buckets up to this one are
  /// final. Returns when those of the bucket are those of all ranks, or before
  /// the last bucket has: then they are when that one returns. Throws
  /// collective_error.
  virtual void sum(size_t bucket, float* gradients,
                   collectives::collective& group,
                   collectives::deadline until) = 0;
};

} // namespace ballast::gpu
