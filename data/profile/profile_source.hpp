/// The profile of what a job reads, read once, as a graph reads it. Batches
/// are looked at by several threads beside the one that reads.
#pragma once

#include "data/profile/table_profile.hpp"
#include "runtime/job/job.hpp"
#include "store/work_watch.hpp"

namespace ballast::data {

class row_faults;

struct profile_terms {
  store::work_watch stop = {};
  row_faults* faults = nullptr; // as of a source
  /// Rows of which equal ones are counted: 8 bytes each.
  uint64_t rows_max = uint64_t{1} << 26;
};

/// Of the rows of the last node of its graph, or of its only source. Errors: of
/// these; invalid_data if there are no rows, or too
/// many were left out.
table_profile profile_of(const data_spec& data, const profile_terms& terms);

} // namespace ballast::data
