#include "data/chunk_file.hpp"

#include "data/arrow_support.hpp"
#include "runtime/base/fault_point.hpp"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <system_error>

namespace ballast::data {

chunk_file::chunk_file(const std::filesystem::path& path,
                       const std::vector<ledger::chunk_info>& chunks,
                       const ledger::row_shape& row)
    : path_(path.string()), row_(row), chunks_(chunks) {
  // Its calls come back with fewer bytes where the file was cut.
  file_ = take_arrow(arrow::io::ReadableFile::Open(path_), errc::invalid_data,
                     path_);
  reader_ = take_arrow(arrow::ipc::RecordBatchFileReader::Open(file_),
                       errc::invalid_data, path_);
  if (size_t(reader_->num_record_batches()) != chunks.size())
    throw ballast_error(
        errc::invalid_data,
        path_ + ": has " + std::to_string(reader_->num_record_batches()) +
            " chunks, its manifest has " + std::to_string(chunks.size()));
}

chunk_ptr chunk_file::read(chunk_id id) const {
  std::shared_ptr<arrow::RecordBatch> batch;
  {
    // Arrow's reader is not documented as thread-safe; the expensive part, the
    // checksum, is outside the lock.
    const std::lock_guard lock(mutex_);
    if (int64_t{value(id)} >= reader_->num_record_batches())
      throw ballast_error(errc::internal,
                          path_ + ": has no chunk " + to_string(id));
    batch = take_arrow(reader_->ReadRecordBatch(int(value(id))),
                       errc::invalid_data, path_);
  }
  chunk_ptr out;
  try {
    out = make_chunk(id, row_, std::move(batch));
  } catch (const ballast_error& error) {
    throw ballast_error(errc::invalid_data, path_ + ": " + error.what());
  }
  const std::string& expected = chunks_[value(id)].checksum;
  const std::string found = checksum(*out, row_);
  if (found != expected)
    throw ballast_error(errc::invalid_data,
                        path_ + ": chunk " + to_string(id) +
                            " is damaged: its checksum is " + found +
                            ", expected " + expected);
  return out;
}

chunk_files::chunk_files(const std::filesystem::path& folder,
                         const ledger::manifest& set)
    : train_(folder / "train.arrow", set.train, set.row),
      test_(folder / "test.arrow", set.test, set.row) {}

chunk_ptr chunk_files::read(data_part part, chunk_id id) const {
  if (int fault = fault_point("store.read"))
    throw ballast_error(errc::invalid_data,
                        "cannot read chunk " + to_string(id) + ": " +
                            std::generic_category().message(fault));
  return (part == data_part::train ? train_ : test_).read(id);
}

} // namespace ballast::data
