/// Columns of numbers as rows of float32: converted, checked and turned a tile
/// at a time, in loops that compilers make vectors of. Includes Arrow; for
/// source files of data/ only. Pure.
#pragma once

#include <arrow/type_fwd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ballast::data {

/// What all numbers so far have in common.
struct number_range {
  bool int16 = true;       // whole, and in the range of this type
  bool uint8 = true;       // likewise
  uint32_t vocabulary = 0; // of tokens: larger than the largest
};

/// Whether one is not to be trained on.
bool is_bad_number(double number, bool tokens);

/// The first number, row by row, that is not to be trained on.
struct bad_cell {
  int64_t row = 0;
  size_t column = 0;
  double number = 0;
};

/// Writes rows x columns numbers, row after row. Every number must be finite as
/// float32, and of tokens a whole one in [0, tokens_max); where one is not, the
/// first of these is returned, and `out` and `range` hold anything. Columns
/// have `rows` values, of types as holds_numbers() has them; of a null
/// anything.
std::optional<bad_cell>
put_rows(const std::vector<const arrow::Array*>& columns, int64_t rows,
         bool tokens, float* out, number_range& range);

} // namespace ballast::data
