/// Cuts rows of a source_table into chunks and writes them as one Arrow IPC
/// file, batch i = chunk i; of many small chunks each batch holds several
/// (data/store/chunk_file.hpp reads them). A few threads make batches ahead of
/// the one that writes.
#pragma once

#include "data/prepared/chunk_description.hpp"
#include "store/work_watch.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace ballast::data {

class fragment_pool;
class node_cache;

struct write_options {
  /// For what is in the way of memory; on the disk of the set.
  std::filesystem::path folder;
  /// For rows that are not in memory.
  uint64_t memory = uint64_t{1} << 30;
  store::work_watch stop = {};
  /// Reads files of the sources apart; null: nobody does.
  fragment_pool* files = nullptr;
  /// As in source_request.
  found_files* found = nullptr;
  /// Keeps rows of a graph's nodes; null: nobody does.
  std::shared_ptr<node_cache> nodes = nullptr;
};

/// Writes `path` (synced) and returns the description of each chunk, the same
/// for any limit of memory and number of threads. `row` as in the manifest.
/// ballast_error{disk_full|run_dir_unusable|stopped}, and of the rows.
std::vector<ledger::chunk_info>
write_chunks(const std::filesystem::path& path, const ledger::row_shape& row,
             const part_rows& part,
             const std::vector<std::span<const uint64_t>>& chunks,
             const write_options& how);

} // namespace ballast::data
