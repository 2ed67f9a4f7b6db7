/// The row order of one chunk in one epoch. Declared in sequence.hpp; this is
/// the building block: a shuffle of 0..n-1 from one random stream.
#pragma once

#include "runtime/base/random.hpp"

#include <cstdint>
#include <vector>

namespace ballast {

/// A uniform permutation of 0, 1, ..., n - 1 (Fisher-Yates, one block of the
/// generator for two swaps). A pure function of (seed, stream, n). ~10 ns a
/// row.
std::vector<uint32_t> random_permutation(uint64_t seed, uint64_t stream,
                                         uint32_t n);

/// Streams of one seed that must not meet: what a stream is for is part of it.
enum class stream_purpose : uint64_t {
  chunk_order = 1, // the permutation of a chunk in an epoch
  draw = 2,        // which interval a share draws from
};

} // namespace ballast
