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

/// Exactly as much memory as they need: of scattered rows they take more than
/// the labels.
template <class Id>
std::vector<ledger::id_run> runs_of(std::span<const uint64_t> samples, Id id) {
  std::vector<ledger::id_run> out;
  size_t runs = 0;
  for (size_t i = 0; i < samples.size(); ++i)
    runs += i == 0 || id(samples[i]) != id(samples[i - 1]) + 1;
  out.reserve(runs);
  for (uint64_t sample : samples)
    if (!out.empty() && out.back().first + out.back().count == id(sample))
      ++out.back().count;
    else
      out.push_back({id(sample), 1});
  return out;
}

ledger::chunk_info describe(const part_rows& part, const ledger::row_shape& row,
                            std::span<const uint64_t> samples,
                            const chunk& made) {
  const source_table& table = *part.table;
  ledger::chunk_info out;
  out.id = made.id;
  out.rows = made.rows;
  out.checksum = checksum(made, row);
  out.label_histogram.resize(histogram_bins(row));
  const std::vector<int32_t>& bin = table.histogram_bin();
  if (!bin.empty())
    for (uint64_t sample : samples)
      ++out.label_histogram[size_t(bin[part.rows[sample]])];
  out.samples = runs_of(samples, [](uint64_t sample) { return sample; });
  out.source_rows = part.rows.are_all() && table.taken_rows.empty()
                        ? out.samples
                        : runs_of(samples, [&](uint64_t sample) {
                            return table.source_row(part.rows[sample]);
                          });
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
              const gathered_rows& rows, arrow::ipc::IpcWriteOptions options)
      : part_(part), row_(row), rows_(rows), schema_(chunk_schema(row)),
        options_(std::move(options)) {}

  /// Chunks in a row, the first with the number `first`, and how many samples
  /// of the loaded ones come before them.
  made_batch make(std::span<const std::span<const uint64_t>> several,
                  size_t first, uint64_t before) const {
    made_batch out;
    out.batch = make_batch(schema_, columns_of(several, before));
    int64_t bytes = 0;
    check_arrow(arrow::ipc::GetRecordBatchSize(*out.batch, options_, &bytes),
                errc::internal, "a batch of chunks");
    const chunk_ptr all =
        make_chunk(chunk_id(uint32_t(first)), row_, out.batch);
    for (std::span<const uint64_t> samples : several) {
      const auto count = uint32_t(samples.size());
      const chunk_ptr one = chunk_within(*all, chunk_id(uint32_t(first++)),
                                         out.rows, count, row_);
      ledger::chunk_info& info =
          out.chunks.emplace_back(describe(part_, row_, samples, *one));
      info.bytes = several.size() == 1 ? uint64_t(bytes) : one->bytes;
      out.rows += count;
    }
    return out;
  }

private:
  chunk_columns columns_of(std::span<const std::span<const uint64_t>> several,
                           uint64_t before) const {
    const source_table& table = *part_.table;
    chunk_columns out;
    size_t count = 0;
    for (std::span<const uint64_t> one : several)
      count += one.size();
    out.sample_ids.reserve(count);
    for (std::span<const uint64_t> one : several)
      out.sample_ids.insert(out.sample_ids.end(), one.begin(), one.end());
    out.features.resize(count * row_bytes(row_));
    if (table.made)
      make_features(out);
    else
      rows_.gather(out.sample_ids, before, out.features.data());
    if (row_.classes > 0) {
      out.labels.reserve(count);
      for (uint64_t sample : out.sample_ids)
        out.labels.push_back(table.labels[part_.rows[sample]]);
    } else {
      out.targets.reserve(count);
      for (uint64_t sample : out.sample_ids)
        out.targets.push_back(table.targets[part_.rows[sample]]);
    }
    return out;
  }
  void make_features(chunk_columns& out) const {
    std::vector<uint64_t> rows;
    rows.reserve(out.sample_ids.size());
    for (uint64_t sample : out.sample_ids)
      rows.push_back(part_.rows[sample]);
    part_.table->made(rows, {reinterpret_cast<float*>(out.features.data()),
                             rows.size() * row_.features});
  }

  const part_rows& part_;
  const ledger::row_shape& row_;
  const gathered_rows& rows_;
  const std::shared_ptr<arrow::Schema> schema_;
  const arrow::ipc::IpcWriteOptions options_;
};

/// The Arrow IPC file of a part.
class chunk_output {
public:
  chunk_output(const std::filesystem::path& path, const ledger::row_shape& row,
               uint64_t in_batch, const arrow::ipc::IpcWriteOptions& options)
      : context_("cannot write " + path.string()) {
    // A small chunk costs less than the calls that would write it alone.
    constexpr int64_t buffer_bytes = 4 << 20;
    file_ = take_arrow(
        arrow::io::BufferedOutputStream::Create(
            buffer_bytes, arrow::default_memory_pool(),
            take_arrow(arrow::io::FileOutputStream::Open(path.string()), failed,
                       context_)),
        failed, context_);
    writer_ = take_arrow(
        arrow::ipc::MakeFileWriter(
            file_, with_chunks_in_batch(chunk_schema(row), in_batch), options),
        failed, context_);
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
  arrow::ipc::IpcWriteOptions options = arrow::ipc::IpcWriteOptions::Defaults();
  options.alignment = 64; // so that vectors load straight from the file's bytes
  chunk_output to(path, row, in_batch, options);
  std::vector<ledger::chunk_info> out;
  out.reserve(chunks.size());
  gathered_rows rows(part, row, chunks, in_batch, how);
  const batch_maker maker(part, row, rows, options);
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
