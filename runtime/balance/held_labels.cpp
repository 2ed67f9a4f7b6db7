#include "runtime/balance/held_labels.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::balance {

held_labels::held_labels(const label_counts& target)
    : classes_(target.classes), global_(target.classes),
      held_(target.workers * target.classes), rows_(target.workers),
      distance_(target.workers), coming_(target.classes) {
  const auto total = std::max(1.0, double(target.total()));
  for (size_t c = 0; c < classes_; ++c)
    global_[c] = double(target.of_class(c)) / total;
  for (size_t rank = 0; rank < target.workers; ++rank)
    sizes_.push_back(double(target.of_worker(rank)));
}

void held_labels::add(const movable_piece& piece, uint32_t rank, double sign) {
  distance_[rank].fresh = false;
  for (const label_rows& some : piece.labels)
    held_[rank * classes_ + some.label] += sign * some.rows;
  rows_[rank] += sign * double(rows(piece.what));
}

double held_labels::skew_of(uint32_t rank) const {
  if (rows_[rank] <= 0)
    return 0;
  // Several sums at once: each alone would wait for its last addition.
  constexpr size_t lanes = 4;
  double off[lanes] = {};
  const double part = 1 / rows_[rank];
  const double* held = &held_[rank * classes_];
  size_t c = 0;
  for (; c + lanes <= classes_; c += lanes)
    for (size_t lane = 0; lane < lanes; ++lane)
      off[lane] += std::abs(held[c + lane] * part - global_[c + lane]);
  for (; c < classes_; ++c)
    off[0] += std::abs(held[c] * part - global_[c]);
  return (off[0] + off[1] + off[2] + off[3]) / 2;
}

const held_labels::distance& held_labels::distance_of(uint32_t rank) {
  distance& out = distance_[rank];
  if (out.fresh)
    return out;
  out = {0, 0, true};
  for (size_t c = 0; c < classes_; ++c) {
    const double off = held_[rank * classes_ + c] - global_[c] * rows_[rank];
    out.rows += std::abs(off);
    out.slope += off > 0 ? -global_[c] : global_[c];
  }
  return out;
}

// The distance is convex in the rows held and in the size. The first part is
// exact; the second is a tangent, which no convex function falls below.
double held_labels::least_skew_after(uint32_t rank,
                                     std::span<const change> changes) {
  const distance& now = distance_of(rank);
  const double size = rows_[rank];
  double more = 0;
  for (const change& one : changes) {
    more += one.sign * double(rows(one.piece->what));
    for (const label_rows& some : one.piece->labels) {
      if (coming_[some.label] == 0)
        touched_.push_back(some.label);
      coming_[some.label] += one.sign * some.rows;
    }
  }
  double off = now.rows;
  double slope = now.slope;
  for (uint32_t label : touched_) {
    const double part = global_[label];
    const double before = held_[rank * classes_ + label] - part * size;
    const double after = before + coming_[label];
    if (coming_[label] != 0) {
      off += std::abs(after) - std::abs(before);
      slope += (after > 0 ? -part : part) - (before > 0 ? -part : part);
    }
    coming_[label] = 0; // it may be listed twice
  }
  touched_.clear();
  const double size_after = size + more;
  return size_after <= 0 ? 0 : (off + more * slope) / (2 * size_after);
}

} // namespace ballast::balance
