#include "data/fitting/category_index.hpp"

#define XXH_INLINE_ALL // short texts: a call costs more than the hash
#include <xxhash.h>

namespace ballast::data {

uint64_t category_hash(std::string_view category) {
  return XXH64(category.data(), category.size(), 0);
}

uint64_t table_hash(std::string_view category) {
  return XXH3_64bits(category.data(), category.size());
}

category_index::category_index(const std::vector<std::string>& categories)
    : categories_(categories) {
  size_t slots = 4;
  while (slots < 2 * categories_.size())
    slots *= 2;
  slots_.assign(slots, -1);
  for (size_t i = 0; i < categories_.size(); ++i) {
    size_t at = table_hash(categories_[i]) & (slots - 1);
    while (slots_[at] >= 0)
      at = (at + 1) & (slots - 1);
    slots_[at] = int(i);
  }
}

int category_index::find(std::string_view category) const {
  const size_t mask = slots_.size() - 1;
  for (size_t at = table_hash(category) & mask; slots_[at] >= 0;
       at = (at + 1) & mask)
    if (categories_[size_t(slots_[at])] == category)
      return slots_[at];
  return -1;
}

} // namespace ballast::data
