/// A split: each row gets the number of its part, which depends on the rows
/// before it, the seed and the fractions alone; then the rows of one part. So
/// that the parts, each read on its own, have every row once. Includes Arrow;
/// for source files of data/ only.
///
/// `random` and `stratified`: of every run of a few rows (of a stratum), as
/// short as the fractions allow, each part has its exact share, at places by
/// chance. `group`: a hash of the value decides, so that sizes are about right
/// for many groups. `time`: by rank, equal values in one part; reads the column
/// of all rows first, 8 bytes for each in memory.
///
/// One owner, one thread each. Errors at POINTER/column, before a row is read:
/// a column that is not there, or whose type has no order, or no equal values;
/// later: more strata than are kept.
#pragma once

#include "data/operators/column_stream.hpp"
#include "runtime/graph/operator_catalogue.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace ballast::data {

struct split_terms {
  graph::split_kind by = graph::split_kind::random;
  std::string column; // empty for random
  std::vector<double> fractions;
};

/// More strata are a mistake, as are fewer that take more than a tenth of the
/// node's memory: each keeps its run of rows.
constexpr size_t strata_max = 100'000;

/// All rows as they come, with the number of their part (uint8) in a column
/// without a name before the origin. `first_pass`: the same rows, for a split
/// by time; else null.
stream_pointer dealt_rows(stream_pointer from, stream_pointer first_pass,
                          const split_terms& terms, operator_context context);
/// The rows of one part of them, without that column.
stream_pointer rows_of_part(stream_pointer dealt, size_t part,
                            operator_context context);

} // namespace ballast::data
