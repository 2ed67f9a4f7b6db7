/// Rows shared out among files by a number that each row has, in the order in
/// which they come: what does not fit into memory, in parts that do. Includes
/// Arrow; for source files of data/ only.
///
/// Owns what it has not written yet; one thread. Errors: those of
/// spill_file.hpp.
#pragma once

#include "data/operators/row_batches.hpp"
#include "data/operators/spill_file.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace ballast::data {

/// Parts of one level. A part that is too large is shared out again, by the
/// next bits.
constexpr int partition_bits = 4;
constexpr uint32_t partitions = 1 << partition_bits;
/// Deeper than this, the bits of 64 are used up.
constexpr int partition_depth_max = 64 / partition_bits - 1;

class row_partitions {
public:
  /// `memory`: for rows that wait until a write is worth it.
  row_partitions(std::shared_ptr<arrow::Schema> schema,
                 const operator_context& context, int64_t memory);

  /// `part` of each row, below `partitions`.
  void add(const std::shared_ptr<arrow::RecordBatch>& rows,
           std::span<const uint8_t> part);
  /// All parts, the empty ones without a value. The last call.
  std::vector<std::optional<spilled_rows>> finish();

private:
  void write_waiting();

  const std::shared_ptr<arrow::Schema> schema_;
  const operator_context& context_;
  const int64_t memory_;
  int64_t waiting_bytes_ = 0;
  std::vector<std::vector<std::shared_ptr<arrow::RecordBatch>>> waiting_;
  std::vector<std::optional<spill_writer>> files_;
};

} // namespace ballast::data
