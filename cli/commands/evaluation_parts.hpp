/// How `ballast evaluate` judges a model: what the rows of a part add up to, as
/// the process that evaluated them leaves it in a file; and what all parts come
/// to, in the order of the input, so that any number of processes finds the
/// same. Rankings are exact up to a number of rows, then of histograms.
///
/// Errors: ballast_error{run_dir_unusable} of a file that is not there or
/// damaged. One thread.
#pragma once

#include "data/inference/trained_run.hpp"
#include "gpu/model.hpp"
#include "runtime/metrics/tally.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

namespace ballast::cli {

/// Of any number of rows, all of which are ranked where a metric needs it.
std::shared_ptr<const metrics::layout>
evaluation_layout(const data::trained_run& run);

struct evaluated_part {
  gpu::evaluation_sums sums;
  metrics::ordered_part rows;
  std::vector<uint64_t> counts;
};

void write_part(const std::filesystem::path& file, const evaluated_part& what);
evaluated_part read_part(const std::filesystem::path& file);

class judgement {
public:
  /// `of` outlives this.
  explicit judgement(const data::trained_run& of);

  /// The part that follows those before.
  void add(const evaluated_part& part);
  uint64_t rows() const { return uint64_t(sums_.rows); }
  /// {"rows":, "loss":, "metrics": {...}}; what there is of each class stands
  /// under its name.
  nlohmann::ordered_json to_json() const;

private:
  const data::trained_run& of_;
  std::shared_ptr<const metrics::layout> exact_;
  gpu::evaluation_sums sums_;
  metrics::ordered_part all_;
  std::vector<uint64_t> counts_;
  std::optional<metrics::tally> coarse_; // of too many rows to be ranked
};

} // namespace ballast::cli
