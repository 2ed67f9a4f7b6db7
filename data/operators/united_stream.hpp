/// Operators that make one stream of several, row by row: concat, zip and mix.
/// Includes Arrow; for source files of data/ only.
///
/// Inputs whose columns do not go together are refused before a row is read,
/// at POINTER/from.
#pragma once

#include "data/operators/column_stream.hpp"

#include <string>
#include <vector>

namespace ballast::data {

/// One input with its name, for messages.
struct named_stream {
  std::string name;
  stream_pointer from;
};

/// The columns of the first, which all have in any order; whole numbers meet
/// others as int64, with fractions as float64.
stream_pointer concat_rows(std::vector<named_stream> inputs,
                           operator_context context);
/// The columns of all side by side; rows come from the first's origin.
stream_pointer zip_rows(std::vector<named_stream> inputs,
                        operator_context context);
/// Rows in turn: each goes to the input that lags furthest behind its weight,
/// the first of equals. Empty `weights`: equal ones.
stream_pointer mix_rows(std::vector<named_stream> inputs,
                        std::vector<double> weights, operator_context context);

} // namespace ballast::data
