/// Shared parts of the placement generators: lists of row numbers, one for each
/// worker, and how they are cut, shuffled and topped up. Pure.
#pragma once

#include "runtime/placement/placement.hpp"

#include <cstdint>
#include <vector>

namespace ballast::placement {

using row_lists = std::vector<std::vector<uint64_t>>;

/// Streams of the job's seed, one for each purpose. A number is never reused
/// for another purpose, because a prepared set is identified by its seed.
constexpr uint64_t stream_iid = 0x706c61636501;
constexpr uint64_t stream_stratified = 0x706c61636502;
constexpr uint64_t stream_order = 0x706c61636503;
constexpr uint64_t stream_dirichlet = 0x706c61636504;
constexpr uint64_t stream_lognormal = 0x706c61636505;
constexpr uint64_t stream_inner_dirichlet = 0x706c61636506;
constexpr uint64_t stream_shards = 0x706c61636507;
constexpr uint64_t stream_classes = 0x706c61636508;
constexpr uint64_t stream_continuous = 0x706c61636509;

/// 0, 1, ..., rows - 1.
std::vector<uint64_t> all_rows(uint64_t rows);

/// Cuts one order of all rows into runs of the given lengths.
row_lists cut(const std::vector<uint64_t>& order,
              const std::vector<uint64_t>& counts);

/// Rows of each class, in file order; one class if there are no labels.
row_lists rows_by_class(const placement_rows& of);
/// Rows per class.
std::vector<uint64_t> class_sizes(const placement_rows& of);
/// All rows by class, then in file order.
std::vector<uint64_t> rows_by_label(const placement_rows& of);

/// Shuffles the rows within each class.
void shuffle_classes(row_lists& by_class, uint64_t seed);
/// Shuffles the rows within each worker's list.
void shuffle_workers(row_lists& lists, uint64_t seed);

/// A worker with fewer than `least` rows takes the last rows of the longest
/// list, ties to the lowest worker. Does nothing if there are not enough rows.
void leave_at_least(row_lists& lists, uint64_t least);

} // namespace ballast::placement
