/// Cuts a gradient arena into buckets, the units of the all-reduce. The last
/// parameters' gradients are ready first, so buckets run from the end of the
/// arena to its start. Equal on every rank: a function of the parameters alone.
#pragma once

#include "gpu/model.hpp"
#include "gpu/optimizer.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast::gpu {

struct bucket {
  size_t offset = 0; // elements, from the start of the arena
  size_t count = 0;
};

struct bucket_layout {
  /// In launch order.
  std::vector<bucket> buckets;
  /// Parameter i is in buckets first[i] .. last[i] (none if it is empty, or
  /// left out).
  std::vector<size_t> first;
  std::vector<size_t> last;
};

/// The first bucket holds about `first_bytes`, so that the wire gets busy
/// early; so does the last, which becomes ready when no computation is left to
/// overlap with. The others hold at most `bytes` and a sixteenth of the arena,
/// but not less than the first, and begin at the start of a parameter. Large
/// parameters are cut.
bucket_layout make_bucket_layout(const std::vector<parameter_info>& parameters,
                                 size_t first_bytes = size_t{1} << 20,
                                 size_t bytes = size_t{25} << 20);

/// The same without what stays as it is, whose gradients nobody needs: buckets
/// that reach into it are cut. A parameter of it is in no bucket.
bucket_layout leave_out(const bucket_layout& of,
                        const std::vector<parameter_info>& parameters,
                        const std::vector<update_range>& still);

/// For collective_options: ranks with another layout are refused.
uint64_t layout_hash(const bucket_layout& layout);

} // namespace ballast::gpu
