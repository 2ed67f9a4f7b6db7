/// Operators that count rows: limit and repeat. Includes Arrow; for source
/// files of data/ only.
#pragma once

#include "data/operators/column_stream.hpp"

#include <cstdint>
#include <functional>

namespace ballast::data {

/// The same rows from the beginning, each time it is called.
using stream_maker = std::function<stream_pointer()>;

/// `rows` of them, behind the first `skip`.
stream_pointer limit_rows(stream_pointer from, uint64_t rows, uint64_t skip,
                          operator_context context);
/// All of them, `times` times; `again` gives them from the second time on.
stream_pointer repeat_rows(stream_pointer from, stream_maker again,
                           uint64_t times, operator_context context);

} // namespace ballast::data
