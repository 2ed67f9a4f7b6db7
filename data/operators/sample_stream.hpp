/// Keeps so many rows of a stream whose length nobody knows before its end, in
/// the order in which they came: a reservoir (runtime/sampling/reservoir.hpp),
/// for each value of a column if asked. Which rows depends on the seed and the
/// rows alone. Includes Arrow; for source files of data/ only.
///
/// Holds what it keeps, and as much again while rows come and go. One owner,
/// one thread. Errors: ballast_error{invalid_data} for a weight that is none,
/// with its row, and for more kept rows than the memory of the operator holds.
#pragma once

#include "data/operators/operator_context.hpp"
#include "data/source/record_stream.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace ballast::data {

struct sample_terms {
  uint64_t rows = 0;  // at least 1
  std::string by;     // a column, so many rows of each value of it; or empty
  std::string weight; // a column; empty: each row has the same chance
};

std::unique_ptr<record_stream> sampled_rows(std::unique_ptr<record_stream> from,
                                            const sample_terms& terms,
                                            operator_context context);

} // namespace ballast::data
