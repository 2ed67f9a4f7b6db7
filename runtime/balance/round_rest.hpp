/// The rest of a plan that takes several rounds to copy. It continues to the
/// end chosen first, as long as that end is still wanted: a new plan would
/// choose another end, and rows would move twice. Pure.
#pragma once

#include "runtime/balance/shard_moves.hpp"

#include <cstdint>
#include <vector>

namespace ballast::balance {

class round_rest {
public:
  round_rest() = default;
  /// Of a list that was cut off; `sizes` were requested, by rank.
  round_rest(const move_list& first, const std::vector<uint64_t>& sizes);

  bool some() const { return !left_.moves.empty(); }
  uint64_t rows() const { return left_.rows; }
  /// It ends as near to these sizes as the whole plan did to the requested
  /// ones, or within `excess_max` of them (a fraction of the size); and it fits
  /// into the free bytes of the workers, by rank.
  bool leads_to(const std::vector<uint64_t>& sizes, double excess_max,
                std::vector<uint64_t> room_bytes) const;
  /// The first of its moves; 0 = no limit.
  move_list next(uint64_t bytes_max) const;

private:
  double excess_over(const std::vector<uint64_t>& sizes) const;

  move_list left_;
  double excess_ = 0; // over the sizes requested then
};

} // namespace ballast::balance
