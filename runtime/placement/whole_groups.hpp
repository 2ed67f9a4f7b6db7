/// Groups that stay whole (job field `balance.group`): the rows of one patient,
/// one user, one scene. Pure.
#pragma once

#include "runtime/placement/row_lists.hpp"

#include <span>

namespace ballast::placement {

/// In the order of first appearance. `group`: by row, numbers from 0.
row_lists rows_by_group(std::span<const uint64_t> rows,
                        std::span<const uint32_t> group);

/// Puts each group as a whole on one worker, the largest groups first: on the
/// worker with most of its rows, as long as that list does not exceed its size
/// by more than half of the group; else on the worker furthest below its size.
/// Ties to the lowest worker. No worker stays empty if there are as many groups
/// as workers. A worker's groups keep the order of the lists.
row_lists with_whole_groups(const row_lists& lists,
                            std::span<const uint32_t> group);

/// The number of different groups.
size_t different_groups(std::span<const uint32_t> group);

} // namespace ballast::placement
