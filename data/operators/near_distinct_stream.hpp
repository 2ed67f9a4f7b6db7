/// Leaves out the rows that are much like one that stays, in the order of the
/// input (near_duplicates.hpp): what "distinct" does with a similarity below 1.
/// Which rows stay depends on the rows and their order alone. Includes Arrow;
/// for source files of data/ only.
///
/// Holds the texts of the rows that stay. One owner, one thread, which starts
/// others while it works. Errors: ballast_error{invalid_data} for more of them
/// than the memory of the operator holds; source_error for a column that is not
/// there or is neither text nor numbers, before a row is read. A row that goes
/// is told to the context's removed_rows, with the place of the one that stays.
#pragma once

#include "data/operators/near_duplicates.hpp"
#include "data/operators/operator_context.hpp"
#include "data/source/record_stream.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

/// `on` empty: all columns but the origin. `against`: rows that are near one of
/// these go, too; null: there are none.
std::unique_ptr<record_stream>
near_distinct_rows(std::unique_ptr<record_stream> from,
                   const std::vector<std::string>& on, const near_terms& terms,
                   operator_context context, size_t threads,
                   std::unique_ptr<record_stream> against = nullptr);

} // namespace ballast::data
