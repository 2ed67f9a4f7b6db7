/// The criterion by which a placement counts as balanced, the same for all
/// policies: no worker's label skew above the budget, no size further from its
/// part than the tolerance.
#pragma once

#include "runtime/balance/quota.hpp"

#include <cstdint>
#include <vector>

namespace ballast::policies {

struct band {
  double skew_tv = 0.1;
  double size_tolerance = 0.05; // of a worker's part
};

/// Follows a placement unit by unit: O(classes) for each move.
class band_tracker {
public:
  /// `parts` of all units by worker; they sum to 1.
  band_tracker(const band& wanted, const balance::label_counts& held,
               const std::vector<double>& parts);

  void move(size_t label, size_t from, size_t to);
  bool balanced() const { return outside_ == 0; }
  double worst_skew() const;
  double worst_size() const; // distance from the part, relative to it

private:
  double skew_of(size_t worker) const;
  double size_error(size_t worker) const;
  bool is_outside(size_t worker) const;
  void renew(size_t worker);

  band wanted_;
  balance::label_counts held_;
  std::vector<uint64_t> sizes_;
  std::vector<uint64_t> targets_;
  std::vector<double> share_of_; // by class
  std::vector<bool> is_out_;
  size_t outside_ = 0;
};

} // namespace ballast::policies
