/// Keeps the first row of each that are equal in some columns, in the order of
/// the input. Null equals null, NaN equals NaN, -0.0 equals 0.0. Includes
/// Arrow; for source files of data/ only.
///
/// Holds the keys that it has seen, and hands out rows at once. Where the keys
/// are more than fit into memory, the rows whose key is in doubt go to files by
/// the hash of their key, each of which is done for itself, and their first
/// rows are merged. Rows that go are told to the context's removed_rows. One
/// owner, one thread. Errors: source_error for a column that is not there or
/// cannot be compared, before a row is read; else those of spill_file.hpp.
#pragma once

#include "data/operators/operator_context.hpp"
#include "data/source/record_stream.hpp"

#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

/// `on` empty: all columns but the origin. `against`: rows that are equal to
/// one of these go, too; null: there are none.
std::unique_ptr<record_stream>
distinct_rows(std::unique_ptr<record_stream> from,
              const std::vector<std::string>& on, operator_context context,
              std::unique_ptr<record_stream> against = nullptr);

/// The columns that are compared: `on`, or if it is empty all that a user can
/// name.
std::vector<std::string> compared_columns(const arrow::Schema& schema,
                                          const std::vector<std::string>& on);
/// Refuses columns that have another type in the second input.
void check_compared(const arrow::Schema& first, const arrow::Schema& second,
                    const std::vector<std::string>& columns,
                    const operator_context& context);

} // namespace ballast::data
