/// Who computes which leaves of the one step that a failure broke off (order
/// global): what a leaf contributes is a function of the step and the leaf, so
/// that each is left with the worker that may have computed it already, and
/// only those of workers that are gone are dealt anew. From the next step on
/// the ranks have ranges by their batch weights again. Pure.
///
/// Nobody says which leaves were computed: one that was not is computed now, by
/// the same worker.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/ledger/leaves.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ballast::ledger {

struct kept_leaves {
  step_number step{}; // 0: there is none
  std::vector<leaf_ranges> by_rank;
  friend bool operator==(const kept_leaves&, const kept_leaves&) = default;
};

/// Why these are not all leaves, each once, or nothing. Checks input from a
/// peer or a file.
std::optional<std::string> leaves_error(std::span<const leaf_ranges> by_rank,
                                        uint32_t leaves);

/// `had`: what each rank of the next plan had of this step before, none of it
/// twice; those that nobody had are spread so that who has fewest by the batch
/// weights gets most. A rank's ranges begin with those that it had. Nothing
/// (step 0) if nobody had any, or if a rank would have more parts of the sum
/// than a range of its own may have.
kept_leaves keep_leaves(step_number step, std::vector<leaf_ranges> had,
                        std::span<const uint64_t> batch_weights,
                        uint32_t leaves);

} // namespace ballast::ledger
