#include "data/prepared/chunk_writer.hpp"

#include "data/base/arrow_support.hpp"
#include "data/prepared/prepare_cache.hpp"
#include "data/prepared/set_tables.hpp"
#include "data/store/chunk.hpp"
#include "data/store/chunk_file.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/unique_fd.hpp"
#include "store/sync_path.hpp"
#include "store/work_watch.hpp"

#include <algorithm>
#include <arrow/api.h>
#include <arrow/io/buffered.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace ballast::data {

namespace {

chunk_columns columns_of(const part_rows& part, const ledger::row_shape& row,
                         std::span<const uint64_t> samples) {
  const source_table& table = *part.table;
  const size_t each = row_bytes(row);
  chunk_columns out;
  out.features.resize(samples.size() * each);
  out.sample_ids.assign(samples.begin(), samples.end());
  std::vector<uint64_t> rows;
  rows.reserve(samples.size());
  for (uint64_t sample : samples)
    rows.push_back(part.table_rows[sample]);
  if (table.made)
    table.made(rows, {reinterpret_cast<float*>(out.features.data()),
                      samples.size() * row.features});
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint64_t from = rows[i];
    if (!table.made)
      std::memcpy(out.features.data() + i * each,
                  table.features.data() + from * each, each);
    if (row.classes > 0)
      out.labels.push_back(table.labels[from]);
    else
      out.targets.push_back(table.targets[from]);
  }
  return out;
}

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
joined(std::span<const std::span<const uint64_t>> several) {
  std::vector<uint64_t> out;
  for (std::span<const uint64_t> one : several)
    out.insert(out.end(), one.begin(), one.end());
  return out;
}

ledger::chunk_info describe(const part_rows& part, const ledger::row_shape& row,
                            std::span<const uint64_t> samples,
                            const chunk& made) {
  ledger::chunk_info out;
  out.id = made.id;
  out.rows = made.rows;
  out.checksum = checksum(made, row);
  out.label_histogram.resize(histogram_bins(row));
  const std::vector<int32_t>& bin = part.table->histogram_bin();
  std::vector<uint64_t> ids(samples.begin(), samples.end());
  out.samples = ledger::compress(ids);
  for (uint64_t& id : ids) {
    id = part.table_rows[id];
    if (!bin.empty())
      ++out.label_histogram[size_t(bin[id])];
    id = part.table->source_row(id);
  }
  out.source_rows = ledger::compress(ids);
  return out;
}

} // namespace

std::vector<ledger::chunk_info>
write_chunks(const std::filesystem::path& path, const ledger::row_shape& row,
             const part_rows& part,
             const std::vector<std::span<const uint64_t>>& chunks,
             const store::work_watch& stop) {
  constexpr errc failed = errc::run_dir_unusable;
  const std::string context = "cannot write " + path.string();
  if (int fault = fault_point("cache.write"))
    refuse_write(path, fault);
  // A small chunk costs less than the calls that would write it alone.
  constexpr int64_t buffer_bytes = 4 << 20;
  auto file = take_arrow(
      arrow::io::BufferedOutputStream::Create(
          buffer_bytes, arrow::default_memory_pool(),
          take_arrow(arrow::io::FileOutputStream::Open(path.string()), failed,
                     context)),
      failed, context);
  const uint64_t in_batch = chunks_in_batch_of(chunks, row);
  arrow::ipc::IpcWriteOptions options = arrow::ipc::IpcWriteOptions::Defaults();
  options.alignment = 64; // so that vectors load straight from the file's bytes
  auto writer = take_arrow(
      arrow::ipc::MakeFileWriter(
          file, with_chunks_in_batch(chunk_schema(row), in_batch), options),
      failed, context);
  std::vector<ledger::chunk_info> out;
  out.reserve(chunks.size());
  while (out.size() < chunks.size()) {
    check_stop(stop);
    const auto several = std::span(chunks).subspan(
        out.size(), std::min<size_t>(in_batch, chunks.size() - out.size()));
    const std::shared_ptr<arrow::RecordBatch> batch =
        make_batch(row, columns_of(part, row, joined(several)));
    int64_t bytes = 0;
    check_arrow(arrow::ipc::GetRecordBatchSize(*batch, options, &bytes), failed,
                context);
    const chunk_ptr made =
        make_chunk(chunk_id(uint32_t(out.size())), row, batch);
    uint32_t begin = 0;
    for (std::span<const uint64_t> samples : several) {
      const auto rows = uint32_t(samples.size());
      const chunk_ptr one =
          chunk_within(*made, chunk_id(uint32_t(out.size())), begin, rows, row);
      ledger::chunk_info& info =
          out.emplace_back(describe(part, row, samples, *one));
      info.bytes = in_batch == 1 ? uint64_t(bytes) : one->bytes;
      begin += rows;
    }
    check_arrow(writer->WriteRecordBatch(*batch), failed, context);
    stop.did(begin);
  }
  check_arrow(writer->Close(), failed, context);
  check_arrow(file->Close(), failed, context);
  store::sync_path(path);
  return out;
}

} // namespace ballast::data
