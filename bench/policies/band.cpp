#include "bench/policies/band.hpp"

#include "runtime/placement/placement.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::policies {

band_tracker::band_tracker(const band& wanted,
                           const balance::label_counts& held,
                           const std::vector<double>& parts)
    : wanted_(wanted), held_(held),
      targets_(placement::split_by_shares(held.total(), parts)),
      is_out_(held.workers) {
  for (size_t label = 0; label < held.classes; ++label)
    share_of_.push_back(double(held.of_class(label)) / double(held.total()));
  for (size_t worker = 0; worker < held.workers; ++worker)
    sizes_.push_back(held.of_worker(worker));
  for (size_t worker = 0; worker < held.workers; ++worker)
    renew(worker);
}

void band_tracker::move(size_t label, size_t from, size_t to) {
  --held_.at(from, label);
  ++held_.at(to, label);
  --sizes_[from];
  ++sizes_[to];
  renew(from);
  renew(to);
}

double band_tracker::skew_of(size_t worker) const {
  if (sizes_[worker] == 0)
    return 0;
  double distance = 0;
  for (size_t label = 0; label < held_.classes; ++label)
    distance +=
        std::abs(double(held_.at(worker, label)) / double(sizes_[worker]) -
                 share_of_[label]);
  return distance / 2;
}

double band_tracker::size_error(size_t worker) const {
  return std::abs(double(sizes_[worker]) - double(targets_[worker])) /
         std::max(1.0, double(targets_[worker]));
}

bool band_tracker::is_outside(size_t worker) const {
  return skew_of(worker) > wanted_.skew_tv + 1e-12 ||
         size_error(worker) > wanted_.size_tolerance + 1e-12;
}

void band_tracker::renew(size_t worker) {
  bool out = is_outside(worker);
  if (out != is_out_[worker])
    outside_ = out ? outside_ + 1 : outside_ - 1;
  is_out_[worker] = out;
}

double band_tracker::worst_skew() const {
  double out = 0;
  for (size_t worker = 0; worker < held_.workers; ++worker)
    out = std::max(out, skew_of(worker));
  return out;
}

double band_tracker::worst_size() const {
  double out = 0;
  for (size_t worker = 0; worker < held_.workers; ++worker)
    out = std::max(out, size_error(worker));
  return out;
}

} // namespace ballast::policies
