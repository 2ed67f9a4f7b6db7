/// How much a number says of a class: the mutual information of the two, from
/// counts (Cover, Thomas: "Elements of information theory"). Pure.
#pragma once

#include "data/fitting/row_sample.hpp"

#include <cstddef>
#include <cstdint>

namespace ballast::data {

/// In nats, of a column of a sample and its last column, which numbers classes
/// from 0. A column with more than `bins` different values is cut into as many
/// bins of about equally many rows; equal values are in one bin.
double mutual_information(const row_sample& rows, size_t column, uint64_t bins);

} // namespace ballast::data
