/// Cuts rows of a source_table into chunks and writes them as one Arrow IPC
/// file, batch i = chunk i; of many small chunks each batch holds several, and
/// the schema says how many (data/store/chunk_file.hpp reads them).
#pragma once

#include "data/source/source_table.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace ballast::data {

/// Rows of one part of the prepared set, in order: sample i is row
/// `table_rows[i]` of `table`.
struct part_rows {
  const source_table* table = nullptr;
  std::vector<uint64_t> table_rows;
};

/// Writes `path` (synced) and returns the description of each chunk. `row` as
/// in the manifest. ballast_error{disk_full|run_dir_unusable|stopped}.
std::vector<ledger::chunk_info>
write_chunks(const std::filesystem::path& path, const ledger::row_shape& row,
             const part_rows& part,
             const std::vector<std::span<const uint64_t>>& chunks,
             const store::work_watch& stop = {});

} // namespace ballast::data
