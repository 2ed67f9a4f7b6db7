#include "runtime/balance/chunk_labels.hpp"

#include <algorithm>

namespace ballast::balance {

chunk_labels::chunk_labels(const ledger::manifest& set) {
  const size_t bins = histogram_bins(set.row);
  labelled_ = bins > 0;
  classes_ = std::max<size_t>(bins, 1);
  begins_.reserve(set.train.size() + 1);
  rows_.reserve(set.train.size());
  bytes_.reserve(set.train.size());
  for (const ledger::chunk_info& chunk : set.train) {
    begins_.push_back(labels_.size());
    rows_.push_back(chunk.rows);
    bytes_.push_back(chunk.bytes);
    bytes_sum_ += chunk.bytes;
    if (bins == 0)
      labels_.push_back({0, double(chunk.rows)});
    else
      for (uint32_t c = 0; c < chunk.label_histogram.size(); ++c)
        if (chunk.label_histogram[c] > 0)
          labels_.push_back({c, double(chunk.label_histogram[c])});
  }
  begins_.push_back(labels_.size());
}

chunk_labels::chunk_labels(bool labelled, size_t classes)
    : labelled_(labelled), classes_(classes), begins_{0} {}

void chunk_labels::add(uint32_t rows, uint64_t bytes,
                       const std::vector<double>& rows_by_class) {
  rows_.push_back(rows);
  bytes_.push_back(bytes);
  bytes_sum_ += bytes;
  for (uint32_t c = 0; c < rows_by_class.size(); ++c)
    if (rows_by_class[c] > 0)
      labels_.push_back({c, rows_by_class[c]});
  begins_.push_back(labels_.size());
}

std::span<const label_rows> chunk_labels::of(chunk_id chunk) const {
  const size_t at = value(chunk);
  return std::span(labels_).subspan(begins_.at(at),
                                    begins_.at(at + 1) - begins_.at(at));
}

uint64_t chunk_labels::bytes_of(chunk_id chunk) const {
  return bytes_.at(value(chunk));
}

uint32_t chunk_labels::rows_of(chunk_id chunk) const {
  return rows_.at(value(chunk));
}

std::vector<label_rows> chunk_labels::of(const ledger::interval& part) const {
  const std::span<const label_rows> all = of(part.chunk);
  std::vector<label_rows> out(all.begin(), all.end());
  const double ratio = double(rows(part)) / double(rows_of(part.chunk));
  for (label_rows& some : out)
    some.rows *= ratio;
  return out;
}

} // namespace ballast::balance
