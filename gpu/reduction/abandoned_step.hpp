/// What a step that was broken off left of its leaves: sums that are complete,
/// in the slots of leaf_memory. They are as good for the same step once more,
/// of the same parameters; whoever changes those forgets it. Plain data.
#pragma once

#include "runtime/ledger/ledger.hpp"

#include <cstdint>
#include <vector>

namespace ballast::gpu {

/// The sum of a node's leaves that have rows. Of a tree whose root is 1, the
/// children of i are 2 i and 2 i + 1.
struct held_sum {
  uint32_t node = 0;
  uint32_t slot = 0;
};

struct abandoned_step {
  ledger::position at;
  uint64_t samples = 0; // of all ranks; 0: there is none
  std::vector<held_sum> sums;
  std::vector<double> losses; // by leaf; of those in a sum

  bool is(ledger::position step, uint64_t of_samples) const {
    return samples > 0 && at == step && samples == of_samples;
  }
};

} // namespace ballast::gpu
