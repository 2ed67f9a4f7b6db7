/// What a run leaves to those who use its model: the job, the shape of a row,
/// the columns by name, the names of the classes, what its fitted nodes have
/// learned, and the parameters. Read from a run directory, or from a folder
/// with the same files, such as `model/` of a run's copies. A value.
///
/// Errors: ballast_error{run_dir_unusable} of a folder that is no run, or of
/// one that has no model yet; {invalid_data} of a damaged file, or one of
/// another version, with its path; {invalid_job} of a job whose model answers
/// no rows.
#pragma once

#include "data/fitting/fitted_state.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/manifest.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

struct trained_run {
  std::filesystem::path folder;
  job what;                 // model.init is the file of the parameters
  ledger::row_shape row;    // as the model sees it
  ledger::row_shape stored; // as it lies in the prepared set
  std::string label;        // name of the column; empty: it has none
  /// Of labels that are text; empty: classes are numbers.
  std::vector<std::string> class_names;
  std::vector<std::string> columns; // features in order; empty: no names
  std::vector<std::shared_ptr<const fitted_state>> states;
  /// Of everything that decides what the model says of a row.
  std::string fingerprint;

  /// "spam", or "3" where classes are numbers.
  std::string name_of_class(size_t number) const {
    return class_names.empty() ? std::to_string(number)
                               : class_names.at(number);
  }
};

trained_run read_trained_run(const std::filesystem::path& folder);

} // namespace ballast::data
