/// A join whose right side does not fit into memory: both sides in files by the
/// hash of their keys, each pair of files joined for itself, the results merged
/// in the order of the left rows. Includes Arrow; for source files of data/
/// only.
///
/// One owner, one thread. Errors: those of spill_file.hpp.
#pragma once

#include "data/operators/join_output.hpp"
#include "data/operators/row_partitions.hpp"
#include "data/operators/sorted_runs.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace ballast::data {

/// The columns of a side as they are read.
struct join_side {
  std::shared_ptr<arrow::Schema> schema;
  join_keys keys;
};

class join_files {
public:
  join_files(join_kind kind, std::vector<joined_column> columns,
             const std::shared_ptr<arrow::Schema>& schema, join_side left,
             join_side right, const operator_context& context);

  /// All rows of the right, then all of the left, each side in order.
  void add_right(const std::shared_ptr<arrow::RecordBatch>& rows);
  void add_left(const std::shared_ptr<arrow::RecordBatch>& rows);
  /// After the last of them.
  void join();
  /// The result; it has the rows' numbers behind its columns. Null at the end.
  std::shared_ptr<arrow::RecordBatch> next();

private:
  using batch = std::shared_ptr<arrow::RecordBatch>;
  using parts = std::vector<std::optional<spilled_rows>>;
  /// Rows of both sides whose keys have the same hash so far.
  struct pair {
    std::optional<spilled_rows> left;
    std::optional<spilled_rows> right;
    int depth = 0;
    int64_t before = 0; // rows of the right that this is a part of
  };

  void share(row_partitions& among, const batch& rows, const join_keys& keys,
             int depth) const;
  void join_parts(parts left, parts right, int depth, int64_t before);
  void join_pair(pair both);
  /// The right is too large: shares out both once more. `table` has its begin.
  void split(pair& both, join_table& table, batch next,
             std::optional<spill_reader>& right);
  /// Nor does that help: as much of the right as fits, over and over.
  void join_blocks(pair& both, join_table first, batch next,
                   spill_reader& right);
  /// All left rows past a table; `left_seen`: of rows that were found, then the
  /// others wait.
  void pass_left(spill_reader& left, join_table& table, seen_rows* left_seen);
  /// The left rows that are due when the whole right was seen.
  void end_left(spill_reader& left, const seen_rows& left_seen);
  void add_right_alone(const batch& rows, const seen_rows& seen,
                       std::optional<spill_writer>& to) const;
  void write(std::optional<spill_writer>& to, const batch& rows) const;
  join_table new_table() const;

  const join_kind kind_;
  const operator_context& context_;
  const int64_t memory_;
  // With the number of each row at the end.
  join_side left_;
  join_side right_;
  std::optional<join_output> output_;
  uint64_t left_position_ = 0;
  uint64_t right_position_ = 0;
  std::optional<row_partitions> left_parts_;
  std::optional<row_partitions> right_parts_;
  std::optional<sorted_runs> by_left_;
  std::optional<sorted_runs> by_right_; // right rows alone
};

} // namespace ballast::data
