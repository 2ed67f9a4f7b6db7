/// What a batch lacks: which chunks are fetched whole, and which rows alone.
/// Pure.
#pragma once

#include "data/store/chunk.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/ledger/sequence.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::actors {

struct missing_rows {
  std::vector<chunk_id> chunks; // to be fetched whole
  std::vector<size_t> rows; // indices of those to be fetched alone, by chunk
  uint64_t rows_bytes = 0;
};

/// Of `rows`, those whose place is empty. A small chunk comes whole, and one of
/// which many rows are asked for, as long as the chunks fit into `room_bytes`.
/// `chunks`: by number.
missing_rows missing_of(std::span<const ledger::row_ref> rows,
                        const std::vector<data::row_place>& places,
                        const std::vector<ledger::chunk_info>& chunks,
                        uint64_t room_bytes);

} // namespace ballast::actors
