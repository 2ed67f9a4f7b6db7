#include "data/prepared/chunk_writer.hpp"

#include "data/base/arrow_support.hpp"
#include "data/base/ordered_work.hpp"
#include "data/prepared/gathered_rows.hpp"
#include "data/prepared/prepare_cache.hpp"
#include "data/prepared/set_tables.hpp"
#include "data/store/chunk.hpp"
#include "data/store/chunk_file.hpp"
#include "runtime/base/fault_point.hpp"
#include "store/sync_path.hpp"
#include "store/work_watch.hpp"

#include <algorithm>
#include <arrow/api.h>
#include <arrow/io/buffered.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>

namespace ballast::data {

namespace {

/// A batch costs as much as some hundred rows, to write, to find and to read.
uint64_t chunks_in_batch_of(const std::vector<std::span<const uint64_t>>& all,
                            const ledger::row_shape& row) {
  constexpr uint64_t batch_bytes = 256 << 10;
  if (all.size() <= chunks_in_json_max) // few: each has its own
    return 1;
  const uint64_t chunk_bytes = all[0].size() * (row_bytes(row) + 12);
  return std::max<uint64_t>(1,
                            batch_bytes / std::max<uint64_t>(1, chunk_bytes));
}

std::vector<uint64_t>
rows_of_batches(const std::vector<std::span<const uint64_t>>& chunks,
                uint64_t in_batch) {
  std::vector<uint64_t> out;
  for (size_t i = 0; i < chunks.size(); ++i) {
    if (i % in_batch == 0)
      out.push_back(0);
    out.back() += chunks[i].size();
  }
  return out;
}

/// A batch, ready to be written.
struct made_batch {
  std::shared_ptr<arrow::RecordBatch> batch;
  std::vector<ledger::chunk_info> chunks;
  uint32_t rows = 0;
  uint64_t bytes = 0;
};

/// Makes batches of chunks; any thread.
class batch_maker {
public:
  batch_maker(const part_rows& part, const ledger::row_shape& row,
              const gathered_rows& rows)
      : part_(part), row_(row), rows_(rows), schema_(chunk_schema(row)) {}

  /// Chunks in a row, the first with the number `first`, and how many samples
  /// of the loaded ones come before them.
  made_batch make(std::span<const std::span<const uint64_t>> several,
                  size_t first, uint64_t before) const {
    std::vector<uint64_t> ids;
    for (std::span<const uint64_t> one : several)
      ids.insert(ids.end(), one.begin(), one.end());
    const chunk all = rows_of(ids, before);
    made_batch out;
    out.batch = batch_of(all);
    for (std::span<const uint64_t> samples : several) {
      const auto count = uint32_t(samples.size());
      const chunk_ptr one =
          chunk_within(all, chunk_id(uint32_t(first++)), out.rows, count, row_);
      out.chunks.push_back(describe_chunk(part_, row_, samples, *one));
      out.rows += count;
    }
    return out;
  }

private:
  /// In one block, which nobody clears before it is filled.
  chunk rows_of(const std::vector<uint64_t>& ids, uint64_t before) const {
    constexpr size_t wide = sizeof(uint64_t);
    const size_t count = ids.size();
    const size_t features = (count * row_bytes(row_) + wide - 1) / wide * wide;
    const std::shared_ptr<unsigned char[]> block(
        new unsigned char[features + count * (wide + sizeof(int32_t))]);
    const column_room room{block.get(), block.get() + features + count * wide,
                           reinterpret_cast<uint64_t*>(block.get() + features)};
    std::copy(ids.begin(), ids.end(), room.sample_ids);
    if (part_.table->made)
      make_features(ids, room.features);
    else
      rows_.gather(ids, before, room.features);
    if (row_.classes > 0)
      pick(part_.table->labels, ids, static_cast<int32_t*>(room.labels));
    else
      pick(part_.table->targets, ids, static_cast<float*>(room.labels));
    chunk out = chunk_in(room, {}, uint32_t(count), row_);
    out.schema = schema_;
    out.memory = block;
    return out;
  }
  template <class T>
  void pick(const std::vector<T>& of_row, const std::vector<uint64_t>& ids,
            T* out) const {
    for (uint64_t sample : ids)
      *out++ = of_row[part_.rows[sample]];
  }
  void make_features(const std::vector<uint64_t>& ids,
                     unsigned char* out) const {
    std::vector<uint64_t> rows;
    rows.reserve(ids.size());
    for (uint64_t sample : ids)
      rows.push_back(part_.rows[sample]);
    part_.table->made(
        rows, {reinterpret_cast<float*>(out), rows.size() * row_.features});
  }

  const part_rows& part_;
  const ledger::row_shape& row_;
  const gathered_rows& rows_;
  const std::shared_ptr<arrow::Schema> schema_;
};

/// The Arrow IPC file of a part.
class chunk_output {
public:
  chunk_output(const std::filesystem::path& path, const ledger::row_shape& row,
               const std::vector<uint64_t>& rows_of_batches)
      : context_("cannot write " + path.string()) {
    // Small columns go together, large ones without a copy.
    constexpr int64_t buffer_bytes = 64 << 10;
    file_ = take_arrow(
        arrow::io::BufferedOutputStream::Create(
            buffer_bytes, arrow::default_memory_pool(),
            take_arrow(arrow::io::FileOutputStream::Open(path.string()), failed,
                       context_)),
        failed, context_);
    arrow::ipc::IpcWriteOptions options =
        arrow::ipc::IpcWriteOptions::Defaults();
    options.alignment = 64; // of a batch; of a column as batch_places.hpp says
    writer_ = take_arrow(
        arrow::ipc::MakeFileWriter(
            file_, with_rows_of_batches(chunk_schema(row), rows_of_batches),
            options),
        failed, context_);
  }
  chunk_output(const chunk_output&) = delete;
  /// What failed is known: Arrow would say it once more on stderr.
  ~chunk_output() {
    if (!file_->closed())
      (void)file_->Abort();
  }
  void write(const arrow::RecordBatch& batch) {
    check_arrow(writer_->WriteRecordBatch(batch), failed, context_);
  }
  void close() {
    check_arrow(writer_->Close(), failed, context_);
    check_arrow(file_->Close(), failed, context_);
  }

private:
  static constexpr errc failed = errc::run_dir_unusable;
  const std::string context_;
  std::shared_ptr<arrow::io::OutputStream> file_;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
};

/// Batches on their way may take this much, or one of them more.
constexpr uint64_t ahead_bytes_max = 32 << 20;
/// A set below this is written before threads have started.
constexpr uint64_t alone_bytes_max = 1 << 20;

uint64_t bytes_of(std::span<const std::span<const uint64_t>> chunks,
                  const ledger::row_shape& row) {
  uint64_t rows = 0;
  for (std::span<const uint64_t> one : chunks)
    rows += one.size();
  return rows * (row_bytes(row) + sizeof(int32_t) + sizeof(uint64_t));
}

} // namespace

std::vector<ledger::chunk_info>
write_chunks(const std::filesystem::path& path, const ledger::row_shape& row,
             const part_rows& part,
             const std::vector<std::span<const uint64_t>>& chunks,
             const write_options& how) {
  if (int fault = fault_point("cache.write"))
    refuse_write(path, fault);
  const uint64_t in_batch = chunks_in_batch_of(chunks, row);
  chunk_output to(path, row, rows_of_batches(chunks, in_batch));
  std::vector<ledger::chunk_info> out;
  out.reserve(chunks.size());
  gathered_rows rows(part, row, chunks, in_batch, how);
  const batch_maker maker(part, row, rows);
  const bool alone = bytes_of(chunks, row) <= alone_bytes_max;
  ordered_work<made_batch> ahead(alone ? 0 : work_threads(), "bl-chunks");
  uint64_t ahead_bytes = 0;
  const auto write = [&](made_batch&& made) {
    to.write(*made.batch);
    for (ledger::chunk_info& one : made.chunks)
      out.push_back(std::move(one));
    ahead_bytes -= made.bytes;
    how.stop.did(made.rows);
  };
  for (size_t next = 0, end = 0; next < chunks.size();) {
    end = rows.load(); // a batch begins with it, but for the last of them all
    uint64_t before = 0;
    while (next < end || ahead.under_way() > 0) {
      check_stop(how.stop);
      const auto several = std::span(chunks).subspan(
          next, std::min<size_t>(in_batch, end - next));
      const uint64_t bytes = bytes_of(several, row);
      if (next == end || ahead.under_way() >= ahead.wanted() + 1 ||
          (ahead.under_way() > 0 && ahead_bytes + bytes > ahead_bytes_max)) {
        write(ahead.take());
        continue;
      }
      ahead_bytes += bytes;
      const auto make = [&maker, several, next, before, bytes] {
        made_batch made = maker.make(several, next, before);
        made.bytes = bytes;
        return made;
      };
      next += several.size();
      for (std::span<const uint64_t> one : several)
        before += one.size();
      if (alone)
        write(make());
      else
        ahead.give(make);
    }
  }
  to.close();
  store::sync_path(path);
  return out;
}

} // namespace ballast::data
