/// Rows whose columns keep the rules of a `check`: what breaks one is removed
/// with its row, and told to the context's removed_rows, or its value is
/// changed. Includes Arrow; for source files of data/ only.
///
/// One owner, one thread. Errors, before a row is read: ballast_error
/// {invalid_data, invalid_job} at POINTER/rules/COLUMN/RULE of a column that is
/// not there, or a rule that its type does not have.
#pragma once

#include "data/operators/column_stream.hpp"
#include "runtime/graph/check_rules.hpp"

#include <vector>

namespace ballast::data {

stream_pointer checked_rows(stream_pointer from,
                            std::vector<graph::check_rule> rules,
                            operator_context context);

} // namespace ballast::data
