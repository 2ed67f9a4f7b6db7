#include "runtime/balance/recent_arrivals.hpp"

#include <algorithm>

namespace ballast::balance {

void recent_arrivals::moved(const std::vector<arrival>& which,
                            uint64_t window) {
  for (const arrival& one : which)
    moved_[one] = window;
}

void recent_arrivals::forget_before(uint64_t window) {
  std::erase_if(moved_, [&](const auto& one) { return one.second < window; });
}

std::optional<uint64_t> recent_arrivals::last_move(chunk_id id) const {
  std::optional<uint64_t> out;
  for (auto one = moved_.lower_bound({id, {}});
       one != moved_.end() && one->first.chunk == id; ++one)
    out = std::max(out.value_or(0), one->second);
  return out;
}

} // namespace ballast::balance
