/// The first placement of a data set: which rows each initial worker starts
/// with. Pure: equal arguments give equal lists on every machine. N rows, W
/// workers:
///
///   contiguous       file order, equal parts
///   iid              shuffled, equal parts
///   sizes            file order, parts in proportion to `shares`
///   lognormal        shuffled, sizes drawn from LogNormal(0, sigma)
///   linear, square,  shuffled, sizes in proportion to i, i^2, e^i for the
///   exponential      workers i = 1 ... W
///   stratified       every worker has the same of each class, within a row
///
///   sorted           by label, equal parts: the worst skew
///   shards           by label, cut into W * k shards, k each at random
///   classes          k classes for each worker, split equally by holders
///   matrix           class c split in proportion to column c of `matrix`
///   dirichlet        each class split by proportions from Dirichlet(alpha);
///                    `balanced`: skips workers with N / W rows already
///   inner_dirichlet  given sizes, each worker's mix from Dirichlet(alpha)
///   column           rows of one value together, sizes as even as possible
///   continuous       sorted by a column, blurred by 1 - strictness
///
/// If a split does not come out even, the largest remainders get the rest, ties
/// to the lowest worker. No worker stays empty, or below `min_rows` with
/// `dirichlet`: the longest list gives rows away. The first group of kinds
/// shuffles its lists or keeps file order, the second keeps the rows of a class
/// (or value) together. Groups are made whole afterwards; sizes and mixtures
/// are then as close to these as the groups allow. chunk_layout.hpp decides
/// last which rows share a chunk.
#pragma once

#include "runtime/job/job.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace ballast::placement {

/// The input of a placement.
struct placement_rows {
  uint64_t rows = 0;
  /// Class of each row in [0, classes), or bin of its regression target; empty:
  /// all rows count as one class.
  std::span<const int32_t> labels = {};
  uint32_t classes = 0;
  /// Each row's value in `placement_spec::column`, no NaN; empty if the kind
  /// names no column.
  std::span<const double> column = {};
  /// Each row's group, which stays whole (job field `balance.group`); empty: no
  /// groups.
  std::span<const uint32_t> groups = {};
};

/// Why these rows cannot be placed as requested, or nothing: the checks that
/// parse_job could not do without the data.
failure placement_mistake(const placement_spec& spec, const placement_rows& of,
                          uint32_t workers);

/// One list of row numbers for each worker: disjoint, together all of [0,
/// rows), and none empty if rows >= workers. Preconditions: workers > 0;
/// placement_mistake returns nothing; an unknown kind counts as contiguous;
/// `shares` has one entry >= 0 for each worker and a sum > 0, and `matrix` one
/// row for each worker, as parse_job checks.
std::vector<std::vector<uint64_t>> place_rows(const placement_spec& spec,
                                              const placement_rows& of,
                                              uint32_t workers, uint64_t seed);

/// Splits `total` in proportion to `weights` (>= 0, sum > 0) by largest
/// remainder. Sums to `total`.
std::vector<uint64_t> split_by_shares(uint64_t total,
                                      const std::vector<double>& weights);

} // namespace ballast::placement
