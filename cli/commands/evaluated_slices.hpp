/// Rows by the value of one column, for `ballast evaluate --by`: parts of rows
/// that have one value each, and what they come to for each value and for all.
/// The parts depend on the input alone, so that any number of processes finds
/// the same. One owner, one thread.
///
/// Errors: ballast_error{invalid_data} of a column with too many values.
#pragma once

#include "cli/commands/evaluation_parts.hpp"
#include "data/inference/feature_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace ballast::cli {

/// Each has a forward pass and metrics of its own.
constexpr size_t slices_max = 256;

class evaluated_slices {
public:
  /// All of these outlive it.
  evaluated_slices(const data::trained_run& of, data::feature_rows& input,
                   std::string column);

  /// The next part, of at most so many rows; nothing: there is none any more.
  std::optional<data::labelled_features> next(size_t rows);
  /// What the part with that number, from 0, came to; ascending.
  void add(uint64_t part, const evaluated_part& found);
  /// By value, ascending: {"VALUE": as of judgement}.
  nlohmann::ordered_json to_json() const;

private:
  void hold(data::labelled_features more);
  data::labelled_features take(const std::string& value, size_t rows);

  const data::trained_run& of_;
  data::feature_rows& input_;
  const std::string column_;
  std::map<std::string, data::labelled_features> held_;
  std::vector<std::string> values_; // by part
  std::map<std::string, judgement> found_;
  bool ended_ = false;
};

} // namespace ballast::cli
