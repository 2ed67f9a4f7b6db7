/// Groups that stay whole (job field `balance.group`): rows of one patient, one
/// user, one scene. Pure.
#pragma once

#include "runtime/placement/row_lists.hpp"

#include <span>

namespace ballast {

/// In the order of first appearance. `group`: by row, numbers from 0.
row_lists rows_by_group(std::span<const uint64_t> rows,
                        std::span<const uint32_t> group);

/// Each group as a whole on one worker: where most of its rows are, as long as
/// that list does not grow beyond its size by more than half of the group; else
/// where most is missing. Ties to the lowest worker; the largest groups first.
/// Nobody stays empty where there are as many groups as workers. The groups of
/// a worker are in the order in which the lists had them.
row_lists with_whole_groups(const row_lists& lists,
                            std::span<const uint32_t> group);

/// How many different ones there are.
size_t different_groups(std::span<const uint32_t> group);

} // namespace ballast
