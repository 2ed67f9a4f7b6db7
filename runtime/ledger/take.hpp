/// How many samples each worker contributes to one step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ballast::ledger {

/// The input of one rank to the split of a step.
struct take_input {
  uint64_t batch_weight = 0; // b_w of the plan
  uint64_t rows_left = 0;    // owned, not consumed in this epoch
};

/// take_w of every rank for a step of min(global_batch, sum of rows_left)
/// samples. Repeats: divide the missing samples in proportion to batch_weight
/// among ranks with rows left (all weights there 0: equally), by largest
/// remainder, ties to the lowest rank, capped at rows_left; until nothing is
/// missing. Integers only, so that every worker computes the same numbers.
/// Terminates: every round either finishes or exhausts at least one rank.
std::vector<uint64_t> split_batch(uint64_t global_batch,
                                  std::span<const take_input> ranks);

} // namespace ballast::ledger
