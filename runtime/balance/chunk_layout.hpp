/// Which of a worker's rows lie in one chunk. A step draws from all chunks of a
/// worker alike, so this changes nothing for training; but a chunk moves as a
/// whole or by a part that has all of its labels in the same proportions, so it
/// decides how many rows balance costs. Pure.
///
/// A list that is as mixed as the whole set keeps its order: every chunk of it
/// is a sample, good to make a share larger or smaller. Another list is stored
/// class after class, each in chunks of its own: those can go without taking
/// others along. `contiguous` and `sizes` keep the order of the file, whatever
/// is in it. Where there are groups, a chunk has as many whole ones as fit, and
/// more rows where one group has.
#pragma once

#include "runtime/placement/placement.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace ballast {

/// Rows in the order in which they are stored, and how many of them each chunk
/// has; none is empty.
struct chunk_layout {
  std::vector<uint64_t> rows;
  std::vector<uint32_t> chunk_rows;
};

/// Of a set of which nobody says how large its chunks are: small enough for a
/// share to have parts that can go, large enough for a plan to be found in
/// time.
uint32_t chunk_rows_for(uint64_t rows, uint32_t workers);

/// In this order, full chunks and a last one.
chunk_layout cut_in_order(std::vector<uint64_t> rows, uint32_t chunk_rows);

/// `lists` as place_rows makes them, of the same `spec` and rows; the labels
/// are what balance counts rows by. Without groups, a chunk has at most
/// `chunk_rows`; shorter ones are at most as many as full ones, or a few.
std::vector<chunk_layout>
lay_out_chunks(const placement_spec& spec, const placement_rows& of,
               std::vector<std::vector<uint64_t>> lists, uint32_t chunk_rows);

/// The rows of each chunk, one list after the other.
std::vector<std::span<const uint64_t>>
chunks_of(const std::vector<chunk_layout>& lists);

} // namespace ballast
