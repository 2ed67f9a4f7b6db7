/// Keeps the rows of a graph's `cache` nodes in the cache folder, so that a job
/// with the same nodes above, whatever it does below them, does not compute
/// them again. An entry of the cache as a set is, KEY/ with
///   rows.arrow      all columns and the origin, an Arrow IPC file
///   manifest.json   whose they are, and the checksum of that file
/// complete or absent, never more than the limit of the cache. It is verified
/// before a row of it is used; one that is damaged is set aside, and its rows
/// are computed again. What cannot be kept is told, and costs nothing else.
#pragma once

#include "data/graph/node_cache.hpp"
#include "data/prepared/prepare_cache.hpp"
#include "data/prepared/prepared_set.hpp"
#include "runtime/job/job.hpp"

#include <memory>

namespace ballast::data {

/// Null if the job has no such node, or may leave rows out: these are counted
/// as they are read. All but what is returned may go once nothing is read any
/// more.
std::shared_ptr<node_cache> cached_nodes(const job& what, prepare_cache& cache,
                                         const prepare_options& options);

} // namespace ballast::data
