#include "data/store/chunk_file.hpp"

#include "data/base/arrow_support.hpp"
#include "runtime/base/fault_point.hpp"

#include <algorithm>
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <charconv>
#include <system_error>

namespace ballast::data {

namespace {

constexpr const char* count_key = "ballast.chunks_in_batch";

/// Not Arrow's own: with each new thread that one zeroes tens of megabytes of
/// huge pages, and a first step behind a recovery reads some rows on one.
arrow::MemoryPool* pool() {
  return arrow::system_memory_pool();
}

uint64_t chunks_in_batch(const arrow::Schema& schema) {
  if (!schema.metadata() || !schema.metadata()->Contains(count_key))
    return 1;
  const std::string text = schema.metadata()->Get(count_key).ValueOr("");
  uint64_t out = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out);
  // Damage makes nobody divide by 0; any other number is one too many.
  return read.ec == std::errc() && read.ptr == end && out > 0 ? out
                                                              : UINT32_MAX;
}

} // namespace

std::shared_ptr<arrow::Schema>
with_chunks_in_batch(std::shared_ptr<arrow::Schema> schema, uint64_t count) {
  if (count == 1)
    return schema;
  return schema->WithMetadata(
      arrow::key_value_metadata({count_key}, {std::to_string(count)}));
}

chunk_file::chunk_file(const std::filesystem::path& path,
                       const std::vector<ledger::chunk_info>& chunks,
                       const ledger::row_shape& row)
    : path_(path.string()), row_(row), chunks_(chunks) {
  // Its calls come back with fewer bytes where the file was cut.
  file_ = take_arrow(arrow::io::ReadableFile::Open(path_, pool()),
                     errc::invalid_data, path_);
  reader first = open_reader();
  in_batch_ = chunks_in_batch(*first.file->schema());
  const auto expected = (chunks.size() + in_batch_ - 1) / in_batch_;
  if (size_t(first.file->num_record_batches()) != expected)
    refuse("has " + std::to_string(first.file->num_record_batches()) +
           " batches of " + std::to_string(in_batch_) +
           " chunks, its manifest has " + std::to_string(chunks.size()));
  idle_.push_back(std::move(first));
}

void chunk_file::refuse(const std::string& why) const {
  throw ballast_error(errc::invalid_data, path_ + ": " + why);
}

chunk_file::reader chunk_file::open_reader() const {
  arrow::ipc::IpcReadOptions how = arrow::ipc::IpcReadOptions::Defaults();
  how.memory_pool = pool();
  return {take_arrow(arrow::ipc::RecordBatchFileReader::Open(file_, how),
                     errc::invalid_data, path_),
          SIZE_MAX, nullptr};
}

/// All of its rows, as a chunk of the number of its first one.
chunk_ptr chunk_file::read_batch(size_t number) const {
  reader mine;
  {
    const std::lock_guard lock(mutex_);
    // Who read this batch before, if anybody.
    const auto best =
        std::find_if(idle_.begin(), idle_.end(),
                     [&](const reader& one) { return one.number == number; });
    const auto taken =
        best != idle_.end() || idle_.empty() ? best : idle_.end() - 1;
    if (taken != idle_.end()) {
      mine = std::move(*taken);
      idle_.erase(taken);
    }
  }
  if (!mine.file)
    mine = open_reader();
  if (mine.number != number) {
    auto batch = take_arrow(mine.file->ReadRecordBatch(int(number)),
                            errc::invalid_data, path_);
    try {
      mine.batch = make_chunk(chunk_id(uint32_t(number * in_batch_)), row_,
                              std::move(batch));
    } catch (const ballast_error& error) {
      refuse(error.what());
    }
    mine.number = number;
  }
  chunk_ptr out = mine.batch;
  if (in_batch_ == 1) // and none of it is read twice in a row
    mine = {std::move(mine.file), SIZE_MAX, nullptr};
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(mine));
  return out;
}

chunk_ptr chunk_file::read(chunk_id id) const {
  if (value(id) >= chunks_.size())
    throw ballast_error(errc::internal,
                        path_ + ": has no chunk " + to_string(id));
  const size_t number = value(id) / in_batch_;
  chunk_ptr out = read_batch(number);
  if (in_batch_ > 1) {
    uint32_t begin = 0;
    for (size_t before = number * in_batch_; before < value(id); ++before)
      begin += chunks_[before].rows;
    const uint32_t rows = chunks_[value(id)].rows;
    if (uint64_t{begin} + rows > out->rows)
      refuse("batch " + std::to_string(number) + " has " +
             std::to_string(out->rows) + " rows, chunk " + to_string(id) +
             " is not among them");
    out = chunk_within(*out, id, begin, rows, row_);
  }
  const std::string& expected = chunks_[value(id)].checksum;
  const std::string found = checksum(*out, row_);
  if (found != expected)
    refuse("chunk " + to_string(id) + " is damaged: its checksum is " + found +
           ", expected " + expected);
  return compact(std::move(out));
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
