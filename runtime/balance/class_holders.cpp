#include "runtime/balance/class_holders.hpp"

#include <algorithm>

namespace ballast::balance {
namespace {

constexpr uint32_t needed_max = 2;

} // namespace

class_holders::class_holders(const label_counts& target)
    : workers_(target.workers), target_(target.rows.size()),
      pieces_(target.rows.size()), holders_(target.classes),
      needed_(target.classes) {
  for (size_t c = 0; c < target.classes; ++c)
    for (size_t w = 0; w < workers_; ++w)
      if (target.at(w, c) > 0) {
        target_[c * workers_ + w] = true;
        needed_[c] = std::min(needed_max, needed_[c] + 1);
      }
}

void class_holders::add(const movable_piece& piece, uint32_t rank) {
  for (const label_rows& part : piece.labels)
    if (pieces_[part.label * workers_ + rank]++ == 0)
      ++holders_[part.label];
}

void class_holders::remove(const movable_piece& piece, uint32_t rank) {
  for (const label_rows& part : piece.labels)
    if (--pieces_[part.label * workers_ + rank] == 0)
      --holders_[part.label];
}

bool class_holders::loses(const movable_piece& piece, uint32_t from,
                          uint32_t to) const {
  return std::any_of(piece.labels.begin(), piece.labels.end(),
                     [&](const label_rows& part) {
                       const uint32_t* at = &pieces_[part.label * workers_];
                       return holders_[part.label] <= needed_[part.label] &&
                              at[from] == 1 && at[to] > 0;
                     });
}

std::vector<uint32_t> class_holders::lacking() const {
  std::vector<uint32_t> out;
  for (uint32_t c = 0; c < holders_.size(); ++c)
    if (holders_[c] < needed_[c])
      out.push_back(c);
  return out;
}

} // namespace ballast::balance
