/// What each rank takes of a step under a plan of order global. Pure.
#pragma once

#include "runtime/ledger/leaves.hpp"
#include "runtime/ledger/plan.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ballast::ledger {

/// The leaves of each rank: split_leaves by the plan's batch weights.
std::vector<leaf_range> leaves_under(const plan& of, uint32_t leaves);

/// Rows of each rank in a step of `rows` rows.
std::vector<uint64_t> takes_of_leaves(std::span<const leaf_range> parts,
                                      uint64_t rows, uint32_t leaves);
std::vector<uint64_t> takes_of_leaves(std::span<const leaf_ranges> by_rank,
                                      uint64_t rows, uint32_t leaves);

/// Why a plan does not keep the leaves of a step as a job with so many of them
/// can (none: order local), or nothing.
std::optional<std::string> kept_error(const plan& of, uint32_t leaves);

/// By what a batch is shared out among the ranks of a plan: of order global the
/// leaves of each, of order local (`leaves` = 0) its batch weights.
std::vector<uint64_t> batch_parts(const plan& of, uint32_t leaves);

} // namespace ballast::ledger
