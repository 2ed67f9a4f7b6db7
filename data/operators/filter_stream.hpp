/// Only rows of which a condition is true. Includes Arrow; for source files of
/// data/ only.
#pragma once

#include "data/operators/column_stream.hpp"

#include <string>

namespace ballast::data {

/// ballast_error{invalid_job, invalid_data} at POINTER/where of what can be
/// checked before a row is read.
stream_pointer filter_rows(stream_pointer from, const std::string& where,
                           operator_context context);

} // namespace ballast::data
