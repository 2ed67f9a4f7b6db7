/// What planning reads again and again of every chunk: its rows, its bytes, and
/// its rows of each class, without the classes that it does not contain. A set
/// of many classes has mostly empty histograms, and a manifest holds much more
/// beside. Pure; built once for a set.
#pragma once

#include "runtime/balance/quota_distance.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/ledger/plan.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace ballast::balance {

class chunk_labels {
public:
  explicit chunk_labels(const ledger::manifest& set);
  /// Of no chunk yet.
  chunk_labels(bool labelled, size_t classes);
  /// The next chunk; `rows_by_class` has one number for each class.
  void add(uint32_t rows, uint64_t bytes,
           const std::vector<double>& rows_by_class);

  /// False: rows have no labels, and all count as one class.
  bool labelled() const { return labelled_; }
  size_t classes() const { return classes_; }
  /// Ascending by class; without classes all rows are class 0.
  std::span<const label_rows> of(chunk_id chunk) const;
  /// The same of a part of a chunk, which has its labels in the same
  /// proportions.
  std::vector<label_rows> of(const ledger::interval& part) const;
  /// Adds those of a part to `sums`, by class. For loops over all intervals of
  /// a set, most of which are whole chunks.
  void add_to(std::vector<double>& sums, const ledger::interval& part) const {
    const size_t at = value(part.chunk);
    const uint32_t all = rows_.at(at);
    const label_rows* const end = labels_.data() + begins_[at + 1];
    if (rows(part) == all) {
      for (const label_rows* some = labels_.data() + begins_[at]; some != end;
           ++some)
        sums[some->label] += some->rows;
      return;
    }
    const double ratio = double(rows(part)) / double(all);
    for (const label_rows* some = labels_.data() + begins_[at]; some != end;
         ++some)
      sums[some->label] += some->rows * ratio;
  }
  uint32_t rows_of(chunk_id chunk) const;
  uint64_t bytes_of(chunk_id chunk) const;
  uint64_t bytes() const { return bytes_sum_; } // of all chunks

private:
  bool labelled_ = false;
  size_t classes_ = 1;
  std::vector<uint32_t> rows_;  // by chunk
  std::vector<uint64_t> bytes_; // by chunk
  uint64_t bytes_sum_ = 0;
  std::vector<size_t> begins_;     // by chunk, and the end of the last
  std::vector<label_rows> labels_; // of all chunks
};

} // namespace ballast::balance
