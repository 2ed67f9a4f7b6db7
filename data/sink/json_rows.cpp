#include "data/sink/json_rows.hpp"

#include "data/source/array_cells.hpp"
#include "runtime/base/json_text.hpp"

#include <arrow/api.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace ballast::data {

namespace {

using row_json = nlohmann::ordered_json;

row_json value_of(const arrow::Array& column, int64_t row);

template <class ListArray>
row_json list_of(const arrow::Array& column, int64_t row) {
  const auto& lists = static_cast<const ListArray&>(column);
  row_json out = row_json::array();
  for (int64_t i = 0; i < lists.value_length(row); ++i)
    out.push_back(value_of(*lists.values(), lists.value_offset(row) + i));
  return out;
}

row_json object_of(const arrow::Array& column, int64_t row) {
  const auto& objects = static_cast<const arrow::StructArray&>(column);
  row_json out = row_json::object();
  for (int i = 0; i < objects.num_fields(); ++i)
    out[column.type()->field(i)->name()] = value_of(*objects.field(i), row);
  return out;
}

/// Of other keys than text a list of pairs.
row_json map_of(const arrow::Array& column, int64_t row) {
  const auto& maps = static_cast<const arrow::MapArray&>(column);
  const bool texts = maps.keys()->type_id() == arrow::Type::STRING;
  row_json out = texts ? row_json::object() : row_json::array();
  for (int64_t i = maps.value_offset(row);
       i < maps.value_offset(row) + maps.value_length(row); ++i) {
    row_json value = value_of(*maps.items(), i);
    if (texts)
      out[cell_of(*maps.keys(), i)] = std::move(value);
    else
      out.push_back(
          row_json::array({value_of(*maps.keys(), i), std::move(value)}));
  }
  return out;
}

row_json value_of(const arrow::Array& column, int64_t row) {
  if (column.IsNull(row))
    return nullptr;
  switch (column.type_id()) {
  case arrow::Type::LIST:
    return list_of<arrow::ListArray>(column, row);
  case arrow::Type::LARGE_LIST:
    return list_of<arrow::LargeListArray>(column, row);
  case arrow::Type::FIXED_SIZE_LIST:
    return list_of<arrow::FixedSizeListArray>(column, row);
  case arrow::Type::STRUCT:
    return object_of(column, row);
  case arrow::Type::MAP:
    return map_of(column, row);
  case arrow::Type::BOOL:
    return static_cast<const arrow::BooleanArray&>(column).Value(row);
  case arrow::Type::INT64:
    return static_cast<const arrow::Int64Array&>(column).Value(row);
  case arrow::Type::UINT64:
    return static_cast<const arrow::UInt64Array&>(column).Value(row);
  case arrow::Type::DOUBLE: {
    const double number =
        static_cast<const arrow::DoubleArray&>(column).Value(row);
    return std::isfinite(number) ? row_json(number)
                                 : row_json(cell_of(column, row));
  }
  default:
    break;
  }
  if (!holds_numbers(*column.type()))
    return cell_of(column, row);
  const double number = numbers_of(*column.Slice(row, 1)).at(0);
  if (!std::isfinite(number))
    return cell_of(column, row);
  return column.type_id() == arrow::Type::FLOAT ? row_json(number)
                                                : row_json(int64_t(number));
}

} // namespace

std::string json_lines_of(const arrow::RecordBatch& rows) {
  std::string out;
  for (int64_t row = 0; row < rows.num_rows(); ++row) {
    row_json one = row_json::object();
    for (int i = 0; i < rows.num_columns(); ++i)
      one[rows.schema()->field(i)->name()] = value_of(*rows.column(i), row);
    out += json_text(one) + "\n";
  }
  return out;
}

} // namespace ballast::data
