#include "data/prepared/shared_rows.hpp"

#include "data/base/content_hash.hpp"
#include "data/base/ordered_work.hpp"
#include "runtime/base/fault_point.hpp"

#include <algorithm>
#include <memory>
#include <system_error>

namespace ballast::data {

namespace {

using chunk_list = std::vector<std::span<const uint64_t>>;

/// Chunks of the new set in a row, and those of the old one that begin in
/// them: what is read once and looked at in both ways.
struct cut_piece {
  size_t begin = 0; // chunks of the new set
  size_t end = 0;
  size_t old_begin = 0;
  size_t old_end = 0;
  uint64_t first = 0; // rows of the file
  uint64_t rows = 0;
};

class file_cutter {
public:
  file_cutter(const set_source& from, data_part which,
              const ledger::row_shape& row, const part_rows& part,
              const chunk_list& chunks)
      : old_(from.chunks(which)), file_(from.files().of(which)), row_(row),
        old_row_(from.about().row), part_(part), chunks_(chunks) {}

  /// The one that begins with this chunk.
  cut_piece piece_from(size_t begin, uint64_t first_row) const {
    constexpr uint64_t piece_bytes = 1 << 20;
    cut_piece out;
    out.begin = out.end = begin;
    out.first = first_row;
    while (out.end < chunks_.size() &&
           (out.end == begin || out.rows * bytes_of_row() < piece_bytes))
      out.rows += chunks_[out.end++].size();
    out.old_begin = old_from(first_row);
    out.old_end = old_from(first_row + out.rows);
    return out;
  }
  std::vector<ledger::chunk_info> cut(const cut_piece& piece) const {
    uint64_t rows = piece.rows;
    if (piece.old_end > piece.old_begin)
      rows = std::max(rows, end_of_old(piece.old_end - 1) - piece.first);
    const auto features =
        std::make_unique_for_overwrite<unsigned char[]>(rows * row_bytes(row_));
    const auto labels = std::make_unique_for_overwrite<int32_t[]>(rows);
    const auto samples = std::make_unique_for_overwrite<uint64_t[]>(rows);
    or_damaged([&] {
      file_.read_rows(piece.first, rows,
                      {features.get(), labels.get(), samples.get()});
    });
    const auto chunk_at = [&](uint64_t row, size_t id, size_t count) {
      return chunk_in({features.get() + row * row_bytes(row_),
                       labels.get() + row, samples.get() + row},
                      chunk_id(uint32_t(id)), uint32_t(count), row_);
    };
    for (size_t i = piece.old_begin; i < piece.old_end; ++i)
      if (checksum(chunk_at(file_.first_row(old_[i].id) - piece.first, i,
                            old_[i].rows),
                   old_row_) != old_[i].checksum)
        throw damaged_set("chunk " + std::to_string(i) + " of " + file_.path() +
                          " is damaged");
    std::vector<ledger::chunk_info> out;
    uint64_t at = 0;
    for (size_t i = piece.begin; i < piece.end; ++i) {
      out.push_back(describe_chunk(part_, row_, chunks_[i],
                                   chunk_at(at, i, chunks_[i].size())));
      at += chunks_[i].size();
    }
    return out;
  }

private:
  uint64_t bytes_of_row() const {
    return row_bytes(row_) + sizeof(int32_t) + sizeof(uint64_t);
  }
  /// The first chunk of the old set that begins there or behind.
  size_t old_from(uint64_t row) const {
    return size_t(std::partition_point(old_.begin(), old_.end(),
                                       [&](const ledger::chunk_info& one) {
                                         return file_.first_row(one.id) < row;
                                       }) -
                  old_.begin());
  }
  uint64_t end_of_old(size_t i) const {
    return file_.first_row(old_[i].id) + old_[i].rows;
  }

  const std::vector<ledger::chunk_info>& old_;
  const chunk_file& file_;
  const ledger::row_shape& row_;
  const ledger::row_shape& old_row_;
  const part_rows& part_;
  const chunk_list& chunks_;
};

bool link(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code error;
  if (fault_point("cache.link") != 0)
    return false;
  std::filesystem::create_hard_link(from, to, error);
  return !error;
}

} // namespace

std::string order_of(const part_rows& part, const chunk_list& chunks) {
  content_hash of_samples; // each apart: chunks may end anywhere
  content_hash of_sources;
  std::vector<uint64_t> sources;
  for (std::span<const uint64_t> samples : chunks) {
    of_samples.update(samples.data(), samples.size_bytes());
    sources.clear();
    for (uint64_t sample : samples)
      sources.push_back(part.table->source_row(part.rows[sample]));
    of_sources.update(sources.data(), sources.size() * sizeof(uint64_t));
  }
  return hex16(of_samples.digest()) + hex16(of_sources.digest());
}

std::optional<std::vector<ledger::chunk_info>>
share_rows(const set_source& from, data_part which,
           const std::filesystem::path& path, const ledger::row_shape& row,
           const part_rows& part, const chunk_list& chunks,
           const write_options& how) {
  if (!from.files().of(which).tells_its_batches() ||
      row.stored != from.about().row.stored || !link(from.path(which), path))
    return std::nullopt;
  const file_cutter cutter(from, which, row, part, chunks);
  std::vector<ledger::chunk_info> out;
  out.reserve(chunks.size());
  ordered_work<std::vector<ledger::chunk_info>> ahead(work_threads(),
                                                      "bl-chunks");
  uint64_t row_number = 0;
  for (size_t next = 0; next < chunks.size() || ahead.under_way() > 0;) {
    check_stop(how.stop);
    if (next < chunks.size() && ahead.under_way() < ahead.wanted()) {
      const cut_piece piece = cutter.piece_from(next, row_number);
      next = piece.end;
      row_number += piece.rows;
      ahead.give([&cutter, piece] { return cutter.cut(piece); });
      continue;
    }
    for (ledger::chunk_info& one : ahead.take()) {
      how.stop.did(one.rows);
      out.push_back(std::move(one));
    }
  }
  return out;
}

} // namespace ballast::data
