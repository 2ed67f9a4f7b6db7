/// What the ranks of the backend "local" ask for, and how that is done once all
/// have: by plain loops in rank order over the memory of all of them.
#pragma once

#include "collectives/collective.hpp"
#include "collectives/ordered_sum.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast::collectives {

enum class call_kind : uint8_t {
  none,
  reduce,
  scatter,
  gather,
  sum_in_order,
  all_to_all,
  broadcast,
  barrier
};

/// One rank's arguments of an operation.
struct call {
  call_kind what = call_kind::none;
  void* data = nullptr;
  size_t count = 0; // elements; bytes for broadcast, of a block in all_to_all
  element_type type = element_type::float32;
  int root = 0;
  // Of sum_in_order, whose result is `data`:
  const ledger::fixed_sum* how = nullptr;
  rank_parts parts = {};
  const void* blocks = nullptr; // of all_to_all, whose result is `data`

  bool is_like(const call& other) const {
    return what == other.what && count == other.count && type == other.type &&
           root == other.root &&
           (how == nullptr || other.how == nullptr || *how == *other.how);
  }
};

/// The operation of all ranks, whose calls are alike, by rank.
void perform(const std::vector<call>& calls);

} // namespace ballast::collectives
