/// Which row comes first: the stable order of rows by key columns, by radix
/// sorting their words. For source files of data/ only.
///
/// No state; any thread. Errors: ballast_error{stopped}. Takes 32 bytes a row
/// beside the keys while it works.
#pragma once

#include "data/operators/key_column.hpp"
#include "data/operators/row_batches.hpp"

#include <vector>

namespace ballast::data {

/// Bytes of a row while order_of() works, the keys apart.
constexpr int64_t bytes_to_order = 32;

/// The numbers of all rows in their order; rows that are equal stay as they
/// are.
row_indices order_of(const std::vector<key_column>& keys, int64_t rows,
                     const store::work_watch& stop);

} // namespace ballast::data
