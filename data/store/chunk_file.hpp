/// The chunks of one part of a prepared set: an Arrow IPC file, whose batch i
/// is chunk i, or holds that many in a row as its schema says. Uses read calls,
/// not a memory map: truncating an open file must cause an error, not a SIGBUS.
/// A file that is removed stays readable.
#pragma once

#include "data/store/chunk.hpp"
#include "runtime/ledger/manifest.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace arrow {
class Schema;
}
namespace arrow::io {
class RandomAccessFile;
}
namespace arrow::ipc {
class RecordBatchFileReader;
}

namespace ballast::data {

/// The schema of a file whose batches, except for the last, hold so many chunks
/// each.
std::shared_ptr<arrow::Schema>
with_chunks_in_batch(std::shared_ptr<arrow::Schema> schema, uint64_t count);

class chunk_file {
public:
  /// `chunks` must outlive this. ballast_error{invalid_data} that names the
  /// file if it cannot be read or has another number of chunks.
  chunk_file(const std::filesystem::path& path,
             const std::vector<ledger::chunk_info>& chunks,
             const ledger::row_shape& row);

  /// Any thread, several at once. Verifies the checksum; else
  /// ballast_error{invalid_data} that names file and chunk.
  chunk_ptr read(chunk_id id) const;

private:
  /// Arrow's reader, and what was read last: chunks come in a row.
  struct reader {
    std::shared_ptr<arrow::ipc::RecordBatchFileReader> file;
    size_t number = SIZE_MAX;
    chunk_ptr batch; // all of it as one chunk
  };
  reader open_reader() const;
  chunk_ptr read_batch(size_t number) const;
  [[noreturn]] void refuse(const std::string& why) const;

  std::string path_;
  ledger::row_shape row_;
  const std::vector<ledger::chunk_info>& chunks_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  mutable std::mutex mutex_; // guards the following
  /// Arrow's readers are not documented as thread-safe: one for each thread
  /// that reads at the same time.
  mutable std::vector<reader> idle_;
  uint64_t in_batch_ = 1; // chunks
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
