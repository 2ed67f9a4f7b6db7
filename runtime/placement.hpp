/// Which rows each initial worker starts with: the first placement of a data
/// set. Pure: the same arguments give the same lists on every machine.
///
///   contiguous  file order, equal parts
///   iid         shuffled, equal parts
///   stratified  every worker's share of each class within one row of equal
///   sorted      by label, equal parts: the worst skew
///   dirichlet   each class split by proportions drawn from Dirichlet(alpha)
///   sizes       file order, parts in proportion to `shares`
///
/// Where a split does not come out even, the largest remainders get the rest,
/// ties to the lowest worker. The lists are in the order in which rows go into
/// chunks. `iid` and `stratified` shuffle them, so that every chunk is a fair
/// sample of all rows; `dirichlet` keeps the rows of a class together, so that
/// a chunk has few classes and moving it is worth much (which rows feed a step
/// is drawn over all chunks of a worker in either case).
#pragma once

#include "runtime/job.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace ballast {

/// `labels[r]` = class of row r in [0, classes); empty (regression): all rows
/// count as one class. One list of row numbers per worker: disjoint, together
/// all of [0, rows), and none empty where rows >= workers.
/// Preconditions: workers > 0; an unknown kind counts as contiguous; `shares`
/// has one entry >= 0 per worker and a sum > 0, as parse_job checks.
std::vector<std::vector<uint64_t>> place_rows(const placement_spec& spec,
                                              std::span<const int32_t> labels,
                                              uint32_t classes, uint64_t rows,
                                              uint32_t workers, uint64_t seed);

/// Splits `total` in proportion to `weights` (>= 0, sum > 0) by largest
/// remainder. Sums to `total`.
std::vector<uint64_t> split_by_shares(uint64_t total,
                                      const std::vector<double>& weights);

} // namespace ballast
