/// The sources of a job, split into training and test rows, with the
/// bins by which rows are counted: the step between reading files and placing
/// rows. Exists only while a set is prepared.
#pragma once

#include "data/fitting/fitted_states.hpp"
#include "data/prepared/chunk_writer.hpp"
#include "data/prepared/prepared_set.hpp"
#include "data/prepared/set_rows.hpp"
#include "data/source/source_table.hpp"
#include "runtime/job/job.hpp"
#include "store/work_watch.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ballast::data {

/// What a job leaves out of its sources, because it says so.
struct rows_left_out {
  ledger::rejected_rows counts;
  std::string lines; // of quarantine.jsonl
};
/// By reading all rows as a run would; what comes of them is dropped. Errors:
/// all that a run refuses.
rows_left_out left_out_by(job what, const store::work_watch& stop);

struct job_tables {
  source_table train;
  std::optional<source_table> test; // if the job names one
  part_rows train_rows;
  part_rows test_rows;
  /// Of a graph: test rows from a source row that a training row comes from.
  std::optional<uint64_t> test_rows_trained_on;
  /// Rows that were left out, if they may be, or that nodes remove: how many,
  /// and the lines of quarantine.jsonl.
  std::optional<ledger::rejected_rows> rejected;
  std::string quarantine;
  /// Of a graph: what its nodes have learned, in the order of the nodes.
  std::vector<std::shared_ptr<const fitted_state>> states;
  std::vector<std::string> notes;   // of these
  uint32_t placement_bins = 0;      // values of train.class_or_bin()
  std::span<const uint32_t> groups; // by row of `train`; empty: no groups

  /// ballast_error as read_source throws them, and of `balance`. Features take
  /// `how.memory`; the rest of them goes to `how.folder`.
  job_tables(const job& what, const write_options& how);
  /// The same, of a set that has the same rows. damaged_set.
  job_tables(const job& what, std::shared_ptr<const prepared_set> same_rows,
             const write_options& how);
  job_tables(const job_tables&) = delete;

private:
  void read(const job& what, const write_options& how);
  void read_sources(const job& what, const write_options& how,
                    row_faults* faults, removed_rows* removed);
  void read_test(const job& what, const write_options& how,
                 source_request& request,
                 const std::function<source_table(const source_spec&)>& read);
  void choose_rows(const job& what);
  void leave_out_unusable(const job& what, row_faults& faults);
  void divide(const job& what);
  void count_shared_origins(const data_spec& data);
  void choose_joint_bins(size_t columns);
  void choose_bins();
  void choose_cells();
};

} // namespace ballast::data
