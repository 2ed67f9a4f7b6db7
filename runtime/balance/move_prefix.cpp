#include "runtime/balance/move_prefix.hpp"

#include <algorithm>

namespace ballast::balance {
namespace {

constexpr double rounding_rows = 1e-9;

} // namespace

move_prefix::move_prefix(const std::vector<movable_piece>& pieces,
                         const label_counts& target, double skew_max)
    : held_(target) {
  double chunk = 0;
  for (const movable_piece& piece : pieces) {
    held_.add(piece, piece.owner);
    chunk = std::max(chunk, double(rows(piece.what)));
  }
  auto smallest = double(target.total());
  for (uint32_t rank = 0; rank < held_.workers(); ++rank) {
    if (held_.size_of(rank) > 0)
      smallest = std::min(smallest, held_.size_of(rank));
    skew_.push_back(held_.skew_of(rank));
  }
  skew_allowed_ = std::max(skew_max, most_skew()) + rounding_rows;
  over_size_allowed_ =
      std::max(smallest > 0 ? chunk / smallest : 0, most_over_size()) +
      rounding_rows;
}

void move_prefix::move(const movable_piece& piece, uint32_t from, uint32_t to) {
  held_.remove(piece, from);
  held_.add(piece, to);
  skew_[from] = held_.skew_of(from);
  skew_[to] = held_.skew_of(to);
}

double move_prefix::most_over_size() const {
  double out = 0;
  for (uint32_t rank = 0; rank < held_.workers(); ++rank)
    if (held_.size_of(rank) > 0)
      out = std::max(out, held_.rows_of(rank) / held_.size_of(rank) - 1);
  return out;
}

double move_prefix::most_skew() const {
  return skew_.empty() ? 0 : *std::max_element(skew_.begin(), skew_.end());
}

bool move_prefix::good() const {
  return most_skew() <= skew_allowed_ && good_sizes();
}

} // namespace ballast::balance
