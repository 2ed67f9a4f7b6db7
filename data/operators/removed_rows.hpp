/// Rows that the nodes of a graph remove because the job says so (`check`,
/// `distinct`, ...): how many by each node, and the lines of quarantine.jsonl
/// that say which, and why. They are no mistakes: the job field `errors_max`
/// does not count them.
///
/// What is counted and kept depends on the rows alone, not on who tells them
/// first or how often: a source row counts once for each node, though the node
/// works once for each output, and lines are in the order of the nodes, then of
/// the rows. Any thread. No errors.
#pragma once

#include "data/operators/operator_context.hpp"
#include "data/operators/row_batches.hpp"
#include "data/source/record_stream.hpp"
#include "data/source/row_faults.hpp"
#include "runtime/job/job.hpp"

#include <arrow/type_fwd.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ballast::data {

class removed_rows {
public:
  /// `kept`: the lines, too, not only their number.
  explicit removed_rows(bool kept = true) : is_kept_(kept) {}
  removed_rows(const removed_rows&) = delete;
  /// As the job says; null: none of its nodes removes rows.
  static std::unique_ptr<removed_rows> of(const data_spec& data);

  /// The number of a node, by its name; it counts 0 rows from now on.
  size_t node(const std::string& name);
  /// Those of the rows, in order, whose lines somebody wants.
  row_indices count(size_t node, std::span<const uint64_t> origins,
                    const row_indices& rows);
  void keep(size_t node, uint64_t origin, std::string line);
  /// Source number `source` was read up to this row, maybe again.
  void read_up_to(size_t source, uint64_t rows);

  /// `rejected_rows::rows` is 0.
  ledger::rejected_rows counts() const;
  std::string lines() const;

private:
  static constexpr size_t block_bits = 12;
  using block = std::array<uint64_t, (1 << block_bits) / 64>;
  struct counted_node {
    std::string name;
    uint64_t rows = 0;
    std::unordered_map<uint64_t, block> seen; // a bit for each row
  };
  using place = std::pair<size_t, uint64_t>; // node, origin

  bool is_full() const {
    return lines_.size() >= faults_kept_max || bytes_ >= faults_bytes_max;
  }

  const bool is_kept_;
  mutable std::mutex mutex_; // guards the following
  std::vector<counted_node> nodes_;
  std::map<place, std::string> lines_; // the first of all
  size_t bytes_ = 0;                   // of these
  std::vector<uint64_t> read_;         // by source
};

/// Said once by an operator that may remove rows, before any is read: the order
/// of the nodes.
void will_remove(const operator_context& context);
/// Tells the context's removed_rows, if there are any, of rows of a batch:
/// `origin` is its column of origins.
void tell_removed(const operator_context& context,
                  const arrow::RecordBatch& rows, int origin,
                  const std::vector<bad_row>& which);
/// The same of rows that all go for one reason.
void tell_removed(const operator_context& context,
                  const arrow::RecordBatch& rows, int origin,
                  const row_indices& which, const std::string& reason);

/// Both together, with the lines of both, those with mistakes first; null:
/// there are none of them.
ledger::rejected_rows left_out_counts(const row_faults* faults,
                                      const removed_rows* removed);
std::string left_out_lines(const row_faults* faults,
                           const removed_rows* removed);

} // namespace ballast::data
