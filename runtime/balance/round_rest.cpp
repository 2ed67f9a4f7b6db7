#include "runtime/balance/round_rest.hpp"

#include "runtime/balance/sizes.hpp"

#include <algorithm>

namespace ballast::balance {

round_rest::round_rest(const move_list& first,
                       const std::vector<uint64_t>& sizes) {
  left_.moves = first.later;
  left_.after = first.after;
  for (size_t end : first.good_ends)
    if (end > first.moves.size())
      left_.good_ends.push_back(end - first.moves.size());
  cut_off(left_, left_.moves.size());
  excess_ = excess_over(sizes);
}

double round_rest::excess_over(const std::vector<uint64_t>& sizes) const {
  sizes_request end;
  for (size_t rank = 0; rank < left_.after.workers; ++rank)
    end.owned.push_back(left_.after.of_worker(rank));
  return most_excess(end, sizes);
}

bool round_rest::leads_to(const std::vector<uint64_t>& sizes, double excess_max,
                          std::vector<uint64_t> room_bytes) const {
  if (!some() || excess_over(sizes) > std::max(excess_, excess_max))
    return false;
  for (const shard_move& one : left_.moves) {
    if (sizes.at(one.to) == 0)
      return false;
    uint64_t& room = room_bytes.at(one.to);
    if (one.bytes > room)
      return false;
    room -= one.bytes;
  }
  return true;
}

move_list round_rest::next(uint64_t bytes_max) const {
  move_list out = left_;
  cut_off(out, fit_in_bytes(out.moves, bytes_max));
  return out;
}

} // namespace ballast::balance
