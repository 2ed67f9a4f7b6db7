#include "runtime/ledger/fenwick.hpp"

namespace ballast::ledger {

fenwick_tree::fenwick_tree(const std::vector<uint32_t>& counts) {
  while (size_ < counts.size())
    size_ <<= 1;
  nodes_.assign(std::size_t{size_} + 1, 0);
  for (std::size_t i = 0; i < counts.size(); ++i)
    nodes_[i + 1] = counts[i];
  for (uint32_t i = 1; i < size_; ++i)
    nodes_[i + (i & -i)] += nodes_[i];
}

} // namespace ballast::ledger
