/// Rows that were sorted in parts, as one sorted stream: an external merge
/// sort. Each run is a file; as many as the memory and the limit of open files
/// allow are merged at once, in several passes where there are more. Includes
/// Arrow; for source files of data/ only.
///
/// Equal rows come in the order of their runs. Owns its runs; one thread.
/// Errors: those of spill_file.hpp.
#pragma once

#include "data/operators/key_column.hpp"
#include "data/operators/row_batches.hpp"
#include "data/operators/spill_file.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace ballast::data {

/// By which columns of a batch it is sorted, and which way.
struct row_ordering {
  struct one {
    int column = 0;
    key_use use = key_use::ascending;
  };
  std::vector<one> by;

  std::vector<key_column> keys_of(const arrow::RecordBatch& batch) const;
};

/// Writes rows in an order, in blocks that a merge can hold many of.
void write_in_order(spill_writer& to,
                    const std::shared_ptr<arrow::RecordBatch>& rows,
                    const row_indices& order, int64_t block_bytes,
                    const operator_context& context);

/// The same, as they are.
void write_blocks(spill_writer& to,
                  const std::shared_ptr<arrow::RecordBatch>& rows,
                  int64_t block_bytes);

class sorted_runs {
public:
  /// `memory`: for the blocks of a merge.
  sorted_runs(std::shared_ptr<arrow::Schema> schema, row_ordering ordering,
              const operator_context& context, int64_t memory);
  ~sorted_runs();

  /// Most bytes of a batch of a run, unless a single row is larger.
  int64_t block_bytes() const { return block_bytes_; }
  /// The next run: its rows come behind equal ones of earlier runs.
  void add(spilled_rows run);
  bool empty() const { return runs_.empty(); }
  /// All rows; after the last add(). Null at the end.
  std::shared_ptr<arrow::RecordBatch> next();

private:
  class merge;
  void merge_down();

  const std::shared_ptr<arrow::Schema> schema_;
  const row_ordering ordering_;
  const operator_context& context_;
  size_t at_once_;
  int64_t block_bytes_;
  std::vector<spilled_rows> runs_;
  std::unique_ptr<merge> last_;
};

} // namespace ballast::data
