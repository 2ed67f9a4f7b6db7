/// The k nearest neighbours of some rows of an index. Pure functions.
#pragma once

#include "data/neighbours/block_search.hpp"
#include "data/neighbours/class_index.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::data {

/// Of each query its neighbours, the nearest first. Where there are fewer than
/// `most` the rest is `nobody`.
struct neighbour_table {
  size_t most = 0;
  std::vector<neighbour> all; // queries x most

  std::span<const neighbour> of(size_t query) const {
    return {all.data() + query * most, most};
  }
};

/// Among the rows of these classes. The query itself is not one of them, by its
/// row. The same bits for any number of threads.
neighbour_table nearest(const class_index& index,
                        std::span<const uint32_t> queries,
                        std::span<const uint32_t> among, size_t most,
                        const work_terms& how, gone_rows gone = {});

/// Of each query only those before a bound of its own.
neighbour_table nearest_before(const class_index& index,
                               std::span<const uint32_t> queries,
                               std::span<const neighbour> bounds,
                               std::span<const uint32_t> among, size_t most,
                               const work_terms& how, gone_rows gone = {});

/// The distances to the `most` furthest rows of a class, the furthest first.
neighbour_table furthest(const class_index& index,
                         std::span<const uint32_t> queries, uint32_t of_class,
                         size_t most, const work_terms& how);

} // namespace ballast::data
