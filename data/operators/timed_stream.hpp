/// Operators that change when rows are computed, and not what they are: cache
/// and prefetch. Includes Arrow; for source files of data/ only.
///
/// One owner, one thread, beside the one that a prefetch has: what lies before
/// it is read by that thread alone. Errors: those of what lies before, at the
/// place where they are.
#pragma once

#include "data/operators/column_stream.hpp"

#include <cstdint>

namespace ballast::data {

/// As they are. That the rows are kept where several read them is the graph's
/// doing: what lies here is none of what would be read again.
stream_pointer cached_rows(stream_pointer from, operator_context context);

/// At most `batches` ahead of whoever reads.
stream_pointer prefetched_rows(stream_pointer from, uint64_t batches,
                               operator_context context);

} // namespace ballast::data
