/// Decides which of a worker's rows share a chunk. A step draws from all chunks
/// of a worker alike, so training is not affected. But a chunk moves as a
/// whole, or in a part that has all of its labels in the same proportions, so
/// the layout decides how many rows balancing costs. Pure.
///
/// A list as mixed as the whole set keeps its order: every chunk of it is a
/// sample, good to grow or shrink a share. Any other list is stored class after
/// class, each class in chunks of its own, which can move without other
/// classes. `contiguous` and `sizes` keep the order of the file in any case.
/// With groups, a chunk holds as many whole groups as fit, and more rows if a
/// single group has more.
#pragma once

#include "runtime/placement/placement.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace ballast::balance {

/// Rows in storage order, and the number of rows in each chunk, none 0.
struct chunk_layout {
  std::vector<uint64_t> rows;
  std::vector<uint32_t> chunk_rows;
};

/// The chunk size of a set for which the job names none: small enough that a
/// share has parts to move, large enough that a plan is found in time.
uint32_t chunk_rows_for(uint64_t rows, uint32_t workers);

/// Full chunks in the given order, and a last shorter one.
chunk_layout cut_in_order(std::vector<uint64_t> rows, uint32_t chunk_rows);

/// `lists` as place_rows returns them, for the same `spec` and rows; `labels`
/// are the bins that balancing counts. Without groups, a chunk has at most
/// `chunk_rows`; there are at most as many shorter chunks as full ones, or a
/// few.
std::vector<chunk_layout>
lay_out_chunks(const placement_spec& spec, const placement::placement_rows& of,
               std::vector<std::vector<uint64_t>> lists, uint32_t chunk_rows);

/// The rows of each chunk, one list after the other.
std::vector<std::span<const uint64_t>>
chunks_of(const std::vector<chunk_layout>& lists);

} // namespace ballast::balance
