/// Puts the rows of a stream into a random order that depends on the seed and
/// on how many rows there are, on nothing else: by a random number of each
/// row's position, then by the position. Includes Arrow; for source files of
/// data/ only.
///
/// Rows that fit into memory are ordered there; otherwise they go to files by
/// the first bits of their number, and each file is ordered in memory. One
/// owner, one thread. Errors: those of spill_file.hpp.
#pragma once

#include "data/operators/operator_context.hpp"
#include "data/source/record_stream.hpp"

#include <memory>

namespace ballast::data {

std::unique_ptr<record_stream> shuffle_rows(std::unique_ptr<record_stream> from,
                                            operator_context context);

} // namespace ballast::data
