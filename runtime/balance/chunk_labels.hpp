/// The rows of each class in every chunk, without the classes that a chunk does
/// not contain. A set of many classes has mostly empty histograms, and planning
/// reads them again and again. Pure; built once for a set.
#pragma once

#include "runtime/balance/quota_distance.hpp"
#include "runtime/ledger/manifest.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace ballast {

class chunk_labels {
public:
  explicit chunk_labels(const manifest& set);

  /// False: rows have no labels, and all count as one class.
  bool labelled() const { return labelled_; }
  size_t classes() const { return classes_; }
  /// Ascending by class; without classes all rows are class 0.
  std::span<const label_rows> of(chunk_id chunk) const;
  /// The same of a part of a chunk, which has its labels in the same
  /// proportions.
  std::vector<label_rows> of(const interval& part) const;
  uint32_t rows_of(chunk_id chunk) const;

private:
  bool labelled_ = false;
  size_t classes_ = 1;
  std::vector<uint32_t> rows_;     // by chunk
  std::vector<size_t> begins_;     // by chunk, and the end of the last
  std::vector<label_rows> labels_; // of all chunks
};

} // namespace ballast
