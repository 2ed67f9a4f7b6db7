#include "gpu/reduction/compression_trial.hpp"

namespace ballast::gpu {

namespace {

/// The first one loads code and touches memory.
constexpr size_t warm_up = 1;
constexpr size_t measured = 3;
/// What is won must be more than chance, and worth what rounding costs.
constexpr double faster_min = 0.8;
/// A step that waits for less than this part of it cannot win so much: a
/// quarter of the bytes is still to be sent.
constexpr double waited_min = 0.25;

} // namespace

void compression_trial::took(double seconds, double waited,
                             collectives::collective& group,
                             collectives::deadline until) {
  if (decided() || group.size() == 1)
    return;
  if (++steps_ <= warm_up)
    return;
  pace& best = stage_ == stage::plain ? plain_ : compressed_;
  if (steps_ == warm_up + 1 || seconds < best.seconds)
    best = {seconds, waited};
  if (steps_ < warm_up + measured)
    return;
  steps_ = 0;
  agree(group, until);
}

void compression_trial::agree(collectives::collective& group,
                              collectives::deadline until) {
  double sums[] = {plain_.seconds, plain_.waited, compressed_.seconds};
  group.all_reduce(sums, 3, collectives::element_type::float64, until);
  if (stage_ == stage::plain)
    stage_ =
        sums[1] < waited_min * sums[0] ? stage::plain_wins : stage::compressed;
  else
    stage_ = sums[2] < faster_min * sums[0] ? stage::compressed_wins
                                            : stage::plain_wins;
}

} // namespace ballast::gpu
