/// The sources of a job in memory, split into training and test rows, with the
/// bins by which rows are counted: the step between reading files and placing
/// rows. Exists only while a set is prepared.
#pragma once

#include "data/prepared/chunk_writer.hpp"
#include "data/source/source_table.hpp"
#include "runtime/job/job.hpp"
#include "store/work_watch.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace ballast::data {

struct job_tables {
  source_table train;
  std::optional<source_table> test; // if the job names one
  part_rows train_rows;
  part_rows test_rows;
  uint32_t placement_bins = 0;      // values of train.class_or_bin()
  std::span<const uint32_t> groups; // by row of `train`; empty: no groups

  /// ballast_error as read_source throws them, and of `balance`.
  /// `spill`: an existing folder for rows that do not fit into memory.
  job_tables(const job& what, const std::filesystem::path& spill,
             const store::work_watch& stop);
  job_tables(const job_tables&) = delete;

private:
  void choose_joint_bins(size_t columns);
  void choose_bins();
  void choose_cells();
};

} // namespace ballast::data
