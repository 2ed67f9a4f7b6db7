/// One part of a split: the rows that fall to it. Which do depends on the rows
/// before them, the seed and the fractions alone, so that the parts, each read
/// on its own, have every row once. Includes Arrow; for source files of data/
/// only.
///
/// `random` and `stratified`: of every run of a few rows (of a stratum), as
/// short as the fractions allow, each part has its exact share, at places by
/// chance. `group`: a hash of the value decides, so that sizes are about right
/// for many groups. `time`: by rank, equal values in one part; reads the column
/// of all rows first, 8 bytes for each in memory.
#pragma once

#include "data/operators/counted_stream.hpp"
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

/// More values of a stratum, which are kept in memory, are a mistake.
constexpr size_t strata_max = 1'000'000;

stream_pointer split_rows(stream_maker from, const split_terms& terms,
                          size_t part, operator_context context);

} // namespace ballast::data
