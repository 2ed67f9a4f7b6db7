/// What a manifest says of a chunk, of rows that are in memory. Pure.
#pragma once

#include "data/prepared/row_numbers.hpp"
#include "data/source/source_table.hpp"
#include "data/store/chunk.hpp"
#include "runtime/ledger/manifest.hpp"

#include <cstdint>
#include <span>

namespace ballast::data {

/// Rows of one part of the prepared set, in order: sample i is row `rows[i]` of
/// `table`.
struct part_rows {
  const source_table* table = nullptr;
  row_numbers rows;
};

/// `made`: these samples, in this order. Where they are the rows of the source
/// these are left empty: of a set that is written, one list of scattered rows
/// is enough to hold.
ledger::chunk_info describe_chunk(const part_rows& part,
                                  const ledger::row_shape& row,
                                  std::span<const uint64_t> samples,
                                  const chunk& made);

} // namespace ballast::data
