/// The answers of a model as a table: `row` (from 0, in the order of the
/// input), `prediction`, and `p_CLASS` for each class, or `score` where a model
/// says no probabilities; of a regression `row` and `value`. Parquet, CSV, JSON
/// lines, Arrow or ORC, by the end of the name.
///
/// The file appears whole (data/sink/partial_path.hpp). One owner, one thread.
/// Errors: as of record_writer.hpp.
#pragma once

#include "data/inference/trained_run.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace ballast::data {

class prediction_file {
public:
  /// Refuses a name that is taken, or of no known format; and removes what a
  /// killed process left of it.
  static void check(const std::filesystem::path& place);

  prediction_file(std::filesystem::path place, const trained_run& of);
  ~prediction_file();

  /// The answers to the next rows, row after row.
  void add(const std::vector<float>& answers);
  void publish();

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace ballast::data
