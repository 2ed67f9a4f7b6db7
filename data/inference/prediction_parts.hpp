/// The answers of a model on their way to their file: a folder beside it, OUT
/// and ".parts", with a file for each part of the rows. A part appears whole,
/// so whoever is killed leaves parts that the next one goes on with; about.json
/// says whose they are. Beside them lie for a while the rows of parts that are
/// being computed, by which another process reads them.
///
/// Its maker holds a lock on the folder. One owner, one thread; the free
/// functions from any. Errors: ballast_error{run_dir_unusable, disk_full} with
/// the path; {run_dir_in_use} of a folder that another process fills;
/// {usage} of one that is none of these.
#pragma once

#include "data/inference/feature_rows.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/inference/part_board.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ballast::data {

using inference::part_number;

/// A part has 8 MiB of features, but 256 to 16,384 rows: it depends on the
/// model alone, so that any number of processes makes the same parts.
size_t rows_of_part(size_t features);

class prediction_parts {
public:
  /// `fingerprint`: of the input, the model and the options. Makes the folder,
  /// takes up one with the same, or empties one with another.
  prediction_parts(std::filesystem::path folder,
                   const std::string& fingerprint);

  std::filesystem::path rows_file(part_number part) const;
  std::filesystem::path answers_file(part_number part) const;
  void write_rows(part_number part, const labelled_features& rows) const;
  void remove_rows(part_number part) const;
  /// rows x columns numbers; nothing: they are not there, or damaged.
  std::optional<std::vector<float>> answers(part_number part, size_t rows,
                                            size_t columns) const;
  /// With all that is in it.
  void remove();

private:
  void lock();
  void take_up(const std::string& fingerprint);

  std::filesystem::path folder_;
  unique_fd lock_; // of itself
};

labelled_features read_rows(const std::filesystem::path& file);
/// Appears whole, in the place of any other.
void write_answers(const std::filesystem::path& file,
                   const std::vector<float>& answers, size_t columns);

} // namespace ballast::data
