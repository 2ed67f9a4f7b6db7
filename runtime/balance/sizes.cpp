#include "runtime/balance/sizes.hpp"

#include "runtime/placement.hpp"

#include <algorithm>
#include <numeric>

namespace ballast {

namespace {

uint64_t sum(const std::vector<uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), uint64_t{0});
}

/// What does not fit goes to those who have room, in proportion; so does what
/// no longer fits then.
void respect_room(const sizes_request& what, std::vector<uint64_t>& sizes) {
  while (true) { // in every round but the last one more of them is full
    uint64_t too_many = 0;
    std::vector<double> others(sizes.size(), 0);
    for (size_t rank = 0; rank < sizes.size(); ++rank) {
      uint64_t most = what.owned[rank] +
                      std::min(what.room[rank], UINT64_MAX - what.owned[rank]);
      if (sizes[rank] > most) {
        too_many += sizes[rank] - most;
        sizes[rank] = most;
      } else if (sizes[rank] < most) {
        others[rank] = double(what.weights[rank]);
      }
    }
    if (too_many == 0)
      return;
    if (std::all_of(others.begin(), others.end(),
                    [](double weight) { return weight == 0; })) {
      sizes = what.owned;
      return;
    }
    std::vector<uint64_t> more = split_by_shares(too_many, others);
    for (size_t rank = 0; rank < sizes.size(); ++rank)
      sizes[rank] += more[rank];
  }
}

} // namespace

std::vector<uint64_t> lasting_sizes(const sizes_request& what) {
  std::vector<uint64_t> out = split_by_shares(
      sum(what.owned), {what.weights.begin(), what.weights.end()});
  respect_room(what, out);
  return out;
}

std::vector<uint64_t> sizes_for_this_epoch(const sizes_request& what) {
  uint64_t owned = sum(what.owned);
  uint64_t left = sum(what.left);
  if (left == 0)
    return lasting_sizes(what);
  double unused = double(left) / double(owned);
  std::vector<uint64_t> lasting = lasting_sizes(what);
  std::vector<double> sizes(lasting.size());
  // Every chunk that moves takes along what it has left, the same part of all.
  for (size_t rank = 0; rank < sizes.size(); ++rank)
    sizes[rank] =
        std::max(0.0, double(lasting[rank]) + double(what.owned[rank]) -
                          double(what.left[rank]) / unused);
  if (std::all_of(sizes.begin(), sizes.end(),
                  [](double size) { return size == 0; }))
    return lasting;
  std::vector<uint64_t> out = split_by_shares(owned, sizes);
  respect_room(what, out);
  return out;
}

double lost_in_this_epoch(const sizes_request& what,
                          const std::vector<uint64_t>& sizes) {
  double owned = double(sum(what.owned));
  double left = double(sum(what.left));
  double weights = double(sum(what.weights));
  if (owned == 0 || left == 0 || weights == 0)
    return 0;
  double unused = left / owned;
  double latest = 1;
  for (size_t rank = 0; rank < sizes.size(); ++rank) {
    double after = double(what.left[rank]) +
                   unused * (double(sizes[rank]) - double(what.owned[rank]));
    double part = left * double(what.weights[rank]) / weights;
    if (part > 0)
      latest = std::max(latest, after / part);
  }
  return (latest - 1) * unused;
}

} // namespace ballast
