/// Which worker starts with which rows of a set, and how they are cut into
/// chunks. Pure functions of the tables, but for the question how much memory
/// this process may use.
#pragma once

#include "data/prepared/job_tables.hpp"
#include "runtime/balance/chunk_layout.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/job/job.hpp"

#include <cstdint>
#include <vector>

namespace ballast::data {

/// As the job says, or as fits so many rows.
uint32_t chunk_rows_of(const job& what, uint64_t rows);

/// The training rows, a list for each worker. Throws ballast_error
/// {invalid_job} for a placement that these rows do not allow, {invalid_data}
/// if there are more than fit into memory.
std::vector<balance::chunk_layout> place(const job& what,
                                         const job_tables& from);

/// Chunks are numbered worker after worker, so each worker has a contiguous
/// range.
std::vector<std::vector<chunk_id>>
chunks_by_worker(const std::vector<balance::chunk_layout>& lists);

} // namespace ballast::data
