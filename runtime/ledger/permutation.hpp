/// The shuffle that orders the rows of one chunk in one epoch: a permutation of
/// 0..n-1 from one random stream. sequence.hpp uses it.
#pragma once

#include "runtime/base/random.hpp"

#include <cstdint>
#include <vector>

namespace ballast::ledger {

/// A uniform permutation of 0, 1, ..., n - 1 (Fisher-Yates, one block of the
/// generator for two swaps). A pure function of (seed, stream, n). About 10 ns
/// for each row.
std::vector<uint32_t> random_permutation(uint64_t seed, uint64_t stream,
                                         uint32_t n);

/// Streams of one seed must not collide: the purpose is part of the stream.
enum class stream_purpose : uint64_t {
  chunk_order = 1, // the permutation of a chunk in an epoch
  draw = 2,        // which interval a share draws from
  chunk_turn = 3,  // when a window takes a chunk in
  augment = 4,     // what is done to an image in an epoch
  chunk_uses = 5,  // which of its rows a chunk uses in an epoch
  window_rows = 6, // the rows of a window, or of all chunks, of order global
};

} // namespace ballast::ledger
