/// Whether the nearest neighbours of a row are all of its own class, without
/// finding them all. Most rows have k of their own class nearer than any of
/// another: then a few blocks around the row show k of them (not always the
/// nearest k), and the other classes are searched only within that radius and
/// found empty. Only a row of another class within it makes the search of the
/// own class go on to the end.
///
/// Pure functions; the same bits for any number of threads, except which
/// witnesses a row has: those depend on nothing but the index.
#pragma once

#include "data/neighbours/block_search.hpp"
#include "data/neighbours/class_index.hpp"
#include "data/neighbours/parallel_work.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::data {

/// Of each query:
///  * `foreign`: the nearest row of another class, or `nobody`: then it is
///    further than all of `own`, which are as many as were wanted.
///  * `own`: rows of its class, the nearest first. Those before `foreign` are
///    its true nearest ones; without `foreign` they are witnesses that there
///    are so many. `nobody` where there are fewer.
/// As long as these rows are there, the answer holds, whatever else goes.
struct neighbourhoods {
  size_t most = 0;
  std::vector<neighbour> own; // queries x most
  std::vector<neighbour> foreign;

  std::span<const neighbour> own_of(size_t query) const {
    return {own.data() + query * most, most};
  }
  /// Whether a row of another class is among the nearest `k`; k <= most.
  bool has_foreign(size_t query, size_t k) const {
    return foreign[query].row != no_row &&
           foreign[query] < own[query * most + k - 1];
  }
};

/// Over all classes of the index.
neighbourhoods look_around(const class_index& index,
                           std::span<const uint32_t> queries, size_t most,
                           const work_terms& how, gone_rows gone = {});

} // namespace ballast::data
