#include "data/operators/row_partitions.hpp"

#include <arrow/api.h>

#include <array>
#include <utility>

namespace ballast::data {

row_partitions::row_partitions(std::shared_ptr<arrow::Schema> schema,
                               const operator_context& context, int64_t memory)
    : schema_(std::move(schema)), context_(context), memory_(memory),
      waiting_(partitions), files_(partitions) {}

void row_partitions::add(const std::shared_ptr<arrow::RecordBatch>& rows,
                         std::span<const uint8_t> part) {
  std::array<uint32_t, partitions + 1> begin{};
  for (const uint8_t one : part)
    ++begin[one + 1u];
  for (uint32_t i = 0; i < partitions; ++i)
    begin[i + 1] += begin[i];
  row_indices order(part.size());
  std::array<uint32_t, partitions + 1> at = begin;
  for (uint32_t row = 0; row < part.size(); ++row)
    order[at[part[row]]++] = row;
  const std::shared_ptr<arrow::RecordBatch> shared =
      taken(rows, order, context_);
  waiting_bytes_ += bytes_of(*shared);
  for (uint32_t i = 0; i < partitions; ++i)
    if (begin[i + 1] > begin[i])
      waiting_[i].push_back(shared->Slice(begin[i], begin[i + 1] - begin[i]));
  if (waiting_bytes_ > memory_)
    write_waiting();
}

void row_partitions::write_waiting() {
  for (uint32_t i = 0; i < partitions; ++i) {
    if (waiting_[i].empty())
      continue;
    if (!files_[i])
      files_[i].emplace(context_, schema_);
    // Texts of several batches may be more than one can have.
    std::vector<std::shared_ptr<arrow::RecordBatch>> some;
    int64_t bytes = 0;
    for (std::shared_ptr<arrow::RecordBatch>& one : waiting_[i]) {
      bytes += bytes_of(*one);
      some.push_back(std::move(one));
      if (bytes > bytes_at_once) {
        files_[i]->write(*together(schema_, std::exchange(some, {}), context_));
        bytes = 0;
      }
    }
    if (!some.empty())
      files_[i]->write(*together(schema_, std::move(some), context_));
    waiting_[i].clear();
  }
  waiting_bytes_ = 0;
}

std::vector<std::optional<spilled_rows>> row_partitions::finish() {
  write_waiting();
  std::vector<std::optional<spilled_rows>> out(partitions);
  for (uint32_t i = 0; i < partitions; ++i)
    if (files_[i])
      out[i].emplace(files_[i]->finish());
  files_.clear();
  return out;
}

} // namespace ballast::data
