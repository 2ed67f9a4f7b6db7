/// The chunks of one part of a prepared set: ranges of the rows of an Arrow IPC
/// file, one behind the other. The file was cut into batches when it was
/// written, and says so in its schema; the chunks of a set that shares the file
/// with an earlier one begin and end anywhere. A chunk is read without the rest
/// of its batches.
///
/// Uses read calls, not a memory map: truncating an open file must cause an
/// error, not a SIGBUS. A file that is removed stays readable.
#pragma once

#include "data/store/batch_places.hpp"
#include "data/store/chunk.hpp"
#include "runtime/ledger/manifest.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace arrow {
class Schema;
}
namespace arrow::io {
class RandomAccessFile;
}

namespace ballast::data {

/// The schema of a file whose batches have so many rows each.
std::shared_ptr<arrow::Schema>
with_rows_of_batches(std::shared_ptr<arrow::Schema> schema,
                     const std::vector<uint64_t>& rows);

/// Where the columns of rows go; null: not wanted.
struct column_room {
  unsigned char* features = nullptr; // as they are stored
  void* labels = nullptr;            // int32 classes, or float targets
  uint64_t* sample_ids = nullptr;
};
/// These rows as a chunk, which does not own them.
chunk chunk_in(const column_room& room, chunk_id id, uint32_t rows,
               const ledger::row_shape& row);

/// A file that was opened, wherever it lies.
struct opened_rows {
  std::string name; // for messages
  std::shared_ptr<arrow::io::RandomAccessFile> file;
};

class chunk_file {
public:
  /// `chunks` must outlive this. ballast_error{invalid_data} that names the
  /// file if it cannot be read or has other rows than the chunks.
  chunk_file(const std::filesystem::path& path,
             const std::vector<ledger::chunk_info>& chunks,
             const ledger::row_shape& row);
  chunk_file(opened_rows rows, const std::vector<ledger::chunk_info>& chunks,
             const ledger::row_shape& row);

  // -- any thread, several at once; ballast_error{invalid_data} as above ------

  /// Verifies the checksum; the error names file and chunk.
  chunk_ptr read(chunk_id id) const;
  /// The same, into memory of the caller: all columns.
  void read_into(chunk_id id, const column_room& to) const;
  /// Rows of the file, not verified.
  void read_rows(uint64_t first, uint64_t rows, const column_room& to) const;
  /// Whether the file says itself how its rows lie in it, not only its chunks.
  bool tells_its_batches() const { return tells_its_batches_; }
  const std::string& path() const { return path_; }
  /// The file's number of a chunk's first row.
  uint64_t first_row(chunk_id id) const { return starts_[value(id)]; }

private:
  struct batches {
    std::vector<uint64_t> rows; // of each
    std::vector<batch_block> blocks;
  };
  batches read_footer();
  std::vector<uint64_t> rows_by_chunks(const arrow::Schema& schema) const;
  const ledger::chunk_info& about(chunk_id id) const;
  void read_bytes(uint64_t at, uint64_t bytes, void* out) const;
  [[noreturn]] void refuse(const std::string& why) const;

  std::string path_;
  ledger::row_shape row_;
  const std::vector<ledger::chunk_info>& chunks_;
  std::vector<uint64_t> starts_; // of the chunks, and the end
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::vector<batch_place> batches_;
  bool tells_its_batches_ = false;
};

/// Both parts of the set in a folder.
class chunk_files {
public:
  /// As chunk_file.
  chunk_files(const std::filesystem::path& folder, const ledger::manifest& set);
  chunk_files(opened_rows train, opened_rows test, const ledger::manifest& set);
  /// As chunk_file::read() and read_into().
  chunk_ptr read(data_part part, chunk_id id) const;
  void read_into(data_part part, chunk_id id, const column_room& to) const;
  const chunk_file& of(data_part part) const {
    return part == data_part::train ? train_ : test_;
  }

private:
  chunk_file train_;
  chunk_file test_;
};

} // namespace ballast::data
