/// The chunks of one part of a prepared set: an Arrow IPC file, whose batch i
/// is chunk i. Uses read calls, not a memory map: truncating an open file must
/// cause an error, not a SIGBUS. A file that is removed stays readable.
#pragma once

#include "data/chunk.hpp"
#include "runtime/ledger/manifest.hpp"

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace arrow::io {
class RandomAccessFile;
}
namespace arrow::ipc {
class RecordBatchFileReader;
}

namespace ballast::data {

class chunk_file {
public:
  /// `chunks` must outlive this. ballast_error{invalid_data} that names the
  /// file if it cannot be read or has another number of chunks.
  chunk_file(const std::filesystem::path& path,
             const std::vector<ledger::chunk_info>& chunks,
             const ledger::row_shape& row);

  /// Any thread. Verifies the checksum; else ballast_error{invalid_data} that
  /// names file and chunk.
  chunk_ptr read(chunk_id id) const;

private:
  std::string path_;
  ledger::row_shape row_;
  const std::vector<ledger::chunk_info>& chunks_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
  mutable std::mutex mutex_;
};

/// Both parts of the set in a folder.
class chunk_files {
public:
  /// As chunk_file.
  chunk_files(const std::filesystem::path& folder, const ledger::manifest& set);
  /// As chunk_file::read().
  chunk_ptr read(data_part part, chunk_id id) const;

private:
  chunk_file train_;
  chunk_file test_;
};

} // namespace ballast::data
