#include "runtime/balance/held_labels.hpp"

#include <algorithm>
#include <cmath>

namespace ballast {

held_labels::held_labels(const label_counts& target)
    : classes_(target.classes), global_(target.classes),
      held_(target.workers * target.classes), rows_(target.workers) {
  const auto total = std::max(1.0, double(target.total()));
  for (size_t c = 0; c < classes_; ++c)
    global_[c] = double(target.of_class(c)) / total;
  for (size_t rank = 0; rank < target.workers; ++rank)
    sizes_.push_back(double(target.of_worker(rank)));
}

void held_labels::add(const movable_piece& piece, uint32_t rank, double sign) {
  for (const label_rows& some : piece.labels)
    held_[rank * classes_ + some.label] += sign * some.rows;
  rows_[rank] += sign * double(rows(piece.what));
}

double held_labels::skew_of(uint32_t rank) const {
  if (rows_[rank] <= 0)
    return 0;
  double off = 0;
  for (size_t c = 0; c < classes_; ++c)
    off += std::abs(held_[rank * classes_ + c] / rows_[rank] - global_[c]);
  return off / 2;
}

} // namespace ballast
