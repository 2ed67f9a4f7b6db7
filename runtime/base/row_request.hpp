/// In which pieces a step gets the rows that it lacks: what reads them
/// (actors/missing_rows.hpp) and what foresees how much that will be
/// (runtime/balance/rows_ahead.hpp) go by the same numbers.
#pragma once

#include <cstdint>

namespace ballast {

/// A step that lacks a row of a smaller chunk gets the chunk.
constexpr uint64_t small_chunk_bytes = 64 << 10;
/// And one that lacks this part of a chunk's rows.
constexpr uint64_t part_of_rows = 4;

} // namespace ballast
