#include "data/sink/json_rows.hpp"

#include "data/source/array_cells.hpp"
#include "runtime/base/json_text.hpp"

#include <arrow/api.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace ballast::data {

namespace {

using nlohmann::json;

json value_of(const arrow::Array& column, int64_t row) {
  if (column.IsNull(row))
    return nullptr;
  switch (column.type_id()) {
  case arrow::Type::BOOL:
    return static_cast<const arrow::BooleanArray&>(column).Value(row);
  case arrow::Type::INT64:
    return static_cast<const arrow::Int64Array&>(column).Value(row);
  case arrow::Type::UINT64:
    return static_cast<const arrow::UInt64Array&>(column).Value(row);
  case arrow::Type::DOUBLE: {
    const double number =
        static_cast<const arrow::DoubleArray&>(column).Value(row);
    return std::isfinite(number) ? json(number) : json(cell_of(column, row));
  }
  default:
    break;
  }
  if (!holds_numbers(*column.type()))
    return cell_of(column, row);
  const double number = numbers_of(*column.Slice(row, 1)).at(0);
  if (!std::isfinite(number))
    return cell_of(column, row);
  return number == std::floor(number) && std::abs(number) < 0x1p53
             ? json(int64_t(number))
             : json(number);
}

} // namespace

std::string json_lines_of(const arrow::RecordBatch& rows) {
  std::string out;
  for (int64_t row = 0; row < rows.num_rows(); ++row) {
    nlohmann::ordered_json one = nlohmann::ordered_json::object();
    for (int i = 0; i < rows.num_columns(); ++i)
      one[rows.schema()->field(i)->name()] = value_of(*rows.column(i), row);
    out += json_text(one) + "\n";
  }
  return out;
}

} // namespace ballast::data
