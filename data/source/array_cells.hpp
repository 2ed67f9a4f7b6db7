/// Values of an Arrow column as a model, or a user, sees them. Includes Arrow;
/// for source files of data/ only.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ballast::data {

/// Whole numbers, floats and booleans.
bool holds_numbers(const arrow::DataType& type);
/// Of a column of numbers: exact except for 64-bit integers, which become
/// float32 anyway. Of a null anything.
std::vector<double> numbers_of(const arrow::Array& column);
/// A cell as text; empty: missing. Of a dictionary the value, because another
/// batch may number it differently.
std::string cell_of(const arrow::Array& column, int64_t row);

} // namespace ballast::data
