#include "data/store/chunk_file.hpp"

#include "data/base/arrow_support.hpp"
#include "runtime/base/fault_point.hpp"

#include <algorithm>
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <charconv>
#include <cstring>
#include <system_error>

namespace ballast::data {

namespace {

constexpr const char* rows_key = "ballast.batch_rows";
/// Of files of earlier builds.
constexpr const char* chunks_key = "ballast.chunks_in_batch";
/// Behind the footer of an Arrow IPC file: its length, and this.
constexpr std::string_view magic = "ARROW1";

/// Not Arrow's own: with each new thread that one zeroes tens of megabytes of
/// huge pages, and a first step behind a recovery reads some rows on one.
arrow::MemoryPool* pool() {
  return arrow::system_memory_pool();
}

std::string metadata_of(const arrow::Schema& schema, const char* key) {
  return schema.metadata() ? schema.metadata()->Get(key).ValueOr("") : "";
}

/// Memory for a chunk, its columns from the widest to the narrowest.
std::shared_ptr<arrow::Buffer> block_for(uint64_t bytes) {
  // Of small ones there are many: from regions that the kernel backs with huge
  // pages, as a process with many small pages takes long to end.
  constexpr uint64_t small_bytes = 64 << 10;
  return take_arrow(
      arrow::AllocateBuffer(int64_t(bytes), bytes > small_bytes
                                                ? pool()
                                                : arrow::default_memory_pool()),
      errc::device_failed, "a chunk");
}

} // namespace

std::shared_ptr<arrow::Schema>
with_rows_of_batches(std::shared_ptr<arrow::Schema> schema,
                     const std::vector<uint64_t>& rows) {
  return schema->WithMetadata(
      arrow::key_value_metadata({rows_key}, {text_of_rows(rows)}));
}

chunk chunk_in(const column_room& room, chunk_id id, uint32_t rows,
               const ledger::row_shape& row) {
  chunk out;
  out.id = id;
  out.rows = rows;
  out.features = room.features;
  if (row.classes > 0)
    out.labels = static_cast<const int32_t*>(room.labels);
  else
    out.targets = static_cast<const float*>(room.labels);
  out.sample_ids = room.sample_ids;
  out.bytes = rows * (row_bytes(row) + sizeof(int32_t) + sizeof(uint64_t));
  return out;
}

/// Its calls come back with fewer bytes where the file was cut.
static opened_rows open_rows_at(const std::string& path) {
  return {path, take_arrow(arrow::io::ReadableFile::Open(path, pool()),
                           errc::invalid_data, path)};
}

chunk_file::chunk_file(const std::filesystem::path& path,
                       const std::vector<ledger::chunk_info>& chunks,
                       const ledger::row_shape& row)
    : chunk_file(open_rows_at(path.string()), chunks, row) {}

chunk_file::chunk_file(opened_rows rows,
                       const std::vector<ledger::chunk_info>& chunks,
                       const ledger::row_shape& row)
    : path_(std::move(rows.name)), row_(row), chunks_(chunks),
      file_(std::move(rows.file)) {
  starts_.reserve(chunks.size() + 1);
  starts_.push_back(0);
  for (const ledger::chunk_info& one : chunks)
    starts_.push_back(starts_.back() + one.rows);
  const batches found = read_footer();
  std::optional<std::vector<batch_place>> places =
      places_of(found.rows, found.blocks, row);
  if (!places)
    refuse("its batches have other sizes than their rows");
  batches_ = std::move(*places);
}

void chunk_file::refuse(const std::string& why) const {
  throw ballast_error(errc::invalid_data, path_ + ": " + why);
}

chunk_file::batches chunk_file::read_footer() {
  arrow::ipc::IpcReadOptions how = arrow::ipc::IpcReadOptions::Defaults();
  how.memory_pool = pool();
  const auto reader =
      take_arrow(arrow::ipc::RecordBatchFileReader::Open(file_, how),
                 errc::invalid_data, path_);
  const std::shared_ptr<arrow::Schema> found = reader->schema();
  schema_ = chunk_schema(row_);
  if (!found->Equals(*schema_, /*check_metadata=*/false))
    refuse("has the columns [" + found->ToString() + "], expected [" +
           schema_->ToString() + "]");
  const auto size =
      uint64_t(take_arrow(file_->GetSize(), errc::invalid_data, path_));
  // Arrow has read it, so it is there.
  int32_t length = 0;
  const uint64_t end = size - magic.size() - sizeof(length);
  read_bytes(end, sizeof(length), &length);
  std::string footer(size_t(std::max(length, 0)), '\0');
  if (footer.size() > end)
    refuse("is damaged: its footer is longer than the file");
  read_bytes(end - footer.size(), footer.size(), footer.data());
  batches out;
  std::optional<std::vector<batch_block>> blocks = blocks_of(footer);
  if (!blocks)
    refuse("is damaged: its footer lists no batches");
  out.blocks = std::move(*blocks);
  const std::string text = metadata_of(*found, rows_key);
  tells_its_batches_ = !text.empty() || chunks_.empty();
  std::optional<std::vector<uint64_t>> rows =
      tells_its_batches_ ? read_text_of_rows(text, out.blocks.size())
                         : rows_by_chunks(*found);
  uint64_t sum = 0;
  for (uint64_t one : rows ? *rows : std::vector<uint64_t>())
    sum += one;
  if (!rows || rows->size() != out.blocks.size() || sum != starts_.back())
    refuse("has " + std::to_string(out.blocks.size()) + " batches of " +
           std::to_string(sum) + " rows, its manifest has " +
           std::to_string(chunks_.size()) + " chunks of " +
           std::to_string(starts_.back()));
  out.rows = std::move(*rows);
  return out;
}

/// In files of earlier builds a batch is a chunk, or so many.
std::vector<uint64_t>
chunk_file::rows_by_chunks(const arrow::Schema& schema) const {
  const std::string text = metadata_of(schema, chunks_key);
  size_t in_batch = 1;
  if (!text.empty() &&
      (std::from_chars(text.data(), text.data() + text.size(), in_batch).ec !=
           std::errc() ||
       in_batch == 0))
    in_batch = chunks_.size(); // damaged: one batch, which is found
  in_batch = std::min(in_batch, chunks_.size());
  std::vector<uint64_t> out;
  for (size_t at = 0; at < chunks_.size(); at += in_batch)
    out.push_back(starts_[std::min(at + in_batch, chunks_.size())] -
                  starts_[at]);
  return out;
}

void chunk_file::read_bytes(uint64_t at, uint64_t bytes, void* out) const {
  const int64_t got =
      take_arrow(file_->ReadAt(int64_t(at), int64_t(bytes), out),
                 errc::invalid_data, path_);
  if (uint64_t(got) != bytes)
    refuse("ends at byte " + std::to_string(at + uint64_t(got)) +
           ", where more rows should be");
}

void chunk_file::read_rows(uint64_t first, uint64_t rows,
                           const column_room& to) const {
  const size_t of_features = row_bytes(row_);
  auto batch = std::upper_bound(
      batches_.begin(), batches_.end(), first,
      [](uint64_t at, const batch_place& one) { return at < one.first; });
  uint64_t done = 0;
  for (batch -= batch == batches_.begin() ? 0 : 1; done < rows; ++batch) {
    if (batch == batches_.end() || first + done < batch->first)
      refuse("has no row " + std::to_string(first + done));
    const uint64_t begin = first + done - batch->first;
    if (begin >= batch->rows)
      continue; // it is empty
    const uint64_t here = std::min(rows - done, batch->rows - begin);
    const auto read = [&](uint64_t column, size_t each, void* out) {
      if (out != nullptr)
        read_bytes(column + begin * each, here * each,
                   static_cast<unsigned char*>(out) + done * each);
    };
    read(batch->features, of_features, to.features);
    read(batch->labels, sizeof(int32_t), to.labels);
    read(batch->sample_ids, sizeof(uint64_t), to.sample_ids);
    done += here;
  }
}

const ledger::chunk_info& chunk_file::about(chunk_id id) const {
  if (value(id) >= chunks_.size())
    throw ballast_error(errc::internal,
                        path_ + ": has no chunk " + to_string(id));
  return chunks_[value(id)];
}

void chunk_file::read_into(chunk_id id, const column_room& to) const {
  const ledger::chunk_info& expected = about(id);
  read_rows(first_row(id), expected.rows, to);
  const chunk made = chunk_in(to, id, expected.rows, row_);
  const std::string found = checksum(made, row_);
  if (found != expected.checksum)
    refuse("chunk " + to_string(id) + " is damaged: its checksum is " + found +
           ", expected " + expected.checksum);
  // A class that the model lacks would index beyond its outputs.
  for (uint32_t i = 0; made.labels != nullptr && i < made.rows; ++i)
    if (uint32_t(made.labels[i]) >= row_.classes)
      refuse("chunk " + to_string(id) + " has label " +
             std::to_string(made.labels[i]) + " in row " + std::to_string(i) +
             ", there are " + std::to_string(row_.classes) + " classes");
}

chunk_ptr chunk_file::read(chunk_id id) const {
  const uint64_t rows = about(id).rows;
  constexpr uint64_t wide = sizeof(uint64_t);
  // The features first: vectors load from an aligned beginning.
  const uint64_t features = (rows * row_bytes(row_) + wide - 1) / wide * wide;
  const uint64_t ids = rows * wide;
  const auto block = block_for(features + ids + rows * sizeof(int32_t));
  uint8_t* const at = block->mutable_data();
  const column_room room{at, at + features + ids,
                         reinterpret_cast<uint64_t*>(at + features)};
  read_into(id, room);
  auto out = std::make_shared<chunk>(chunk_in(room, id, uint32_t(rows), row_));
  out->schema = schema_;
  out->memory = block;
  return out;
}

chunk_files::chunk_files(const std::filesystem::path& folder,
                         const ledger::manifest& set)
    : train_(folder / "train.arrow", set.train, set.row),
      test_(folder / "test.arrow", set.test, set.row) {}

chunk_files::chunk_files(opened_rows train, opened_rows test,
                         const ledger::manifest& set)
    : train_(std::move(train), set.train, set.row),
      test_(std::move(test), set.test, set.row) {}

static void may_fail(chunk_id id) {
  if (int fault = fault_point("store.read"))
    throw ballast_error(errc::invalid_data,
                        "cannot read chunk " + to_string(id) + ": " +
                            std::generic_category().message(fault));
}

chunk_ptr chunk_files::read(data_part part, chunk_id id) const {
  may_fail(id);
  return of(part).read(id);
}

void chunk_files::read_into(data_part part, chunk_id id,
                            const column_room& to) const {
  may_fail(id);
  of(part).read_into(id, to);
}

} // namespace ballast::data
