#include "runtime/balance/sizes.hpp"

#include "runtime/placement/placement.hpp"

#include <algorithm>
#include <numeric>

namespace ballast::balance {

namespace {

uint64_t total_of(const std::vector<uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), uint64_t{0});
}

/// The smallest move is a row.
constexpr uint64_t least_row = 1;

/// The takes of each worker in whole steps over `total` rows, while no worker
/// runs out. A worker without a take still gets its part.
std::vector<uint64_t> taken_of(uint64_t total, const sizes_request& what) {
  std::vector<double> weights(what.weights.begin(), what.weights.end());
  if (what.batch == 0)
    return placement::split_by_shares(total, weights);
  std::vector<uint64_t> out = placement::split_by_shares(what.batch, weights);
  for (size_t rank = 0; rank < out.size(); ++rank)
    if (out[rank] == 0 && what.weights[rank] > 0)
      return placement::split_by_shares(total, weights);
  std::vector<uint64_t> rest =
      placement::split_by_shares(total % what.batch, weights);
  for (size_t rank = 0; rank < out.size(); ++rank)
    out[rank] = out[rank] * (total / what.batch) + rest[rank];
  return out;
}

/// Rows that do not fit go to workers with room, in proportion, repeatedly.
void respect_room(const sizes_request& what, std::vector<uint64_t>& sizes) {
  while (true) { // every round but the last fills at least one more of them
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
    std::vector<uint64_t> more = placement::split_by_shares(too_many, others);
    for (size_t rank = 0; rank < sizes.size(); ++rank)
      sizes[rank] += more[rank];
  }
}

} // namespace

std::vector<uint64_t> whole_takes(uint64_t batch,
                                  const std::vector<uint64_t>& weights) {
  return placement::split_by_shares(batch, {weights.begin(), weights.end()});
}

std::vector<uint64_t> lasting_sizes(const sizes_request& what) {
  std::vector<uint64_t> out = taken_of(total_of(what.owned), what);
  respect_room(what, out);
  return out;
}

double most_excess(const sizes_request& what,
                   const std::vector<uint64_t>& lasting) {
  double out = 0;
  for (size_t rank = 0; rank < lasting.size(); ++rank)
    if (lasting[rank] > 0 && what.owned[rank] > lasting[rank] + least_row)
      out = std::max(out, double(what.owned[rank]) / double(lasting[rank]) - 1);
  return out;
}

std::vector<uint64_t> sizes_for_this_epoch(const sizes_request& what) {
  const uint64_t owned = total_of(what.owned);
  const std::vector<uint64_t> parts = taken_of(total_of(what.left), what);
  // A worker with more rows left than its part gives some away; one with less
  // receives them.
  double given = 0;
  double given_left = 0;
  std::vector<double> sizes(what.owned.begin(), what.owned.end());
  for (size_t rank = 0; rank < sizes.size(); ++rank) {
    if (what.left[rank] <= parts[rank])
      continue;
    const double keeps = double(parts[rank]) / double(what.left[rank]);
    given += (1 - keeps) * sizes[rank];
    given_left += double(what.left[rank] - parts[rank]);
    sizes[rank] *= keeps;
  }
  if (given == 0)
    return lasting_sizes(what);
  for (size_t rank = 0; rank < sizes.size(); ++rank)
    if (what.left[rank] < parts[rank])
      sizes[rank] += double(parts[rank] - what.left[rank]) * given / given_left;
  if (std::all_of(sizes.begin(), sizes.end(),
                  [](double size) { return size == 0; }))
    return lasting_sizes(what);
  std::vector<uint64_t> out = placement::split_by_shares(owned, sizes);
  respect_room(what, out);
  return out;
}

double lost_in_this_epoch(const sizes_request& what,
                          const std::vector<uint64_t>& sizes) {
  const auto owned = double(total_of(what.owned));
  const auto left = double(total_of(what.left));
  const auto weights = double(total_of(what.weights));
  if (owned == 0 || left == 0 || weights == 0)
    return 0;
  // A move carries along the unconsumed fraction of the giver's rows.
  double given = 0;
  double given_left = 0;
  for (size_t rank = 0; rank < sizes.size(); ++rank)
    if (sizes[rank] < what.owned[rank]) {
      const auto rows = double(what.owned[rank] - sizes[rank]);
      given += rows;
      given_left += rows * double(what.left[rank]) / double(what.owned[rank]);
    }
  double latest = 1;
  const std::vector<uint64_t> parts = taken_of(total_of(what.left), what);
  for (size_t rank = 0; rank < sizes.size(); ++rank) {
    auto after = double(what.left[rank]);
    if (sizes[rank] < what.owned[rank])
      after *= double(sizes[rank]) / double(what.owned[rank]);
    else if (given > 0)
      after += double(sizes[rank] - what.owned[rank]) * given_left / given;
    const double part = parts[rank] > 0
                            ? double(parts[rank])
                            : left * double(what.weights[rank]) / weights;
    if (part > 0 && after > part + least_row)
      latest = std::max(latest, after / part);
  }
  return (latest - 1) * left / owned;
}

} // namespace ballast::balance
