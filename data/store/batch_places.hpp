/// Where the batches of an Arrow IPC file of chunks lie in it, so that any of
/// its rows are read without the rest of their batch. Arrow's reader finds them
/// in the footer (format/File.fbs of the Arrow specification), but does not say
/// where they are. Pure.
///
/// A batch is its columns one after another: features, labels, sample ids, each
/// filled up to a multiple of 8 bytes, none compressed.
#pragma once

#include "runtime/ledger/manifest.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

/// Bytes of a file that belong to one batch.
struct batch_block {
  uint64_t at = 0;
  uint64_t bytes = 0;
};

/// The blocks that a footer lists; nothing: it is none.
std::optional<std::vector<batch_block>> blocks_of(std::string_view footer);

struct batch_place {
  uint64_t first = 0; // of its rows
  uint64_t rows = 0;
  uint64_t features = 0; // bytes in the file
  uint64_t labels = 0;
  uint64_t sample_ids = 0;
};

/// Of the rows of each batch and its block; nothing if one has other bytes than
/// its rows take. As many rows as blocks.
std::optional<std::vector<batch_place>>
places_of(const std::vector<uint64_t>& rows,
          const std::vector<batch_block>& blocks, const ledger::row_shape& row);

/// "3*1000 17": rows of each batch, as the schema of a file says them.
std::string text_of_rows(const std::vector<uint64_t>& rows);
/// Nothing if it is no such text, or is of more than `most` batches.
std::optional<std::vector<uint64_t>> read_text_of_rows(std::string_view text,
                                                       size_t most);

} // namespace ballast::data
