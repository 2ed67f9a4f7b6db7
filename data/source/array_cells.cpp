#include "data/source/array_cells.hpp"

#include <arrow/api.h>

namespace ballast::data {

bool holds_numbers(const arrow::DataType& type) {
  return arrow::is_integer(type.id()) || type.id() == arrow::Type::FLOAT ||
         type.id() == arrow::Type::DOUBLE || type.id() == arrow::Type::BOOL;
}

namespace {

template <class ArrayType>
void copy(const arrow::Array& column, std::vector<double>& out) {
  const auto& typed = static_cast<const ArrayType&>(column);
  for (int64_t i = 0; i < typed.length(); ++i)
    out[size_t(i)] = double(typed.Value(i));
}

} // namespace

std::vector<double> numbers_of(const arrow::Array& column) {
  std::vector<double> out(size_t(column.length()));
  switch (column.type_id()) {
  case arrow::Type::BOOL:
    copy<arrow::BooleanArray>(column, out);
    break;
  case arrow::Type::UINT8:
    copy<arrow::UInt8Array>(column, out);
    break;
  case arrow::Type::INT8:
    copy<arrow::Int8Array>(column, out);
    break;
  case arrow::Type::UINT16:
    copy<arrow::UInt16Array>(column, out);
    break;
  case arrow::Type::INT16:
    copy<arrow::Int16Array>(column, out);
    break;
  case arrow::Type::UINT32:
    copy<arrow::UInt32Array>(column, out);
    break;
  case arrow::Type::INT32:
    copy<arrow::Int32Array>(column, out);
    break;
  case arrow::Type::UINT64:
    copy<arrow::UInt64Array>(column, out);
    break;
  case arrow::Type::INT64:
    copy<arrow::Int64Array>(column, out);
    break;
  case arrow::Type::FLOAT:
    copy<arrow::FloatArray>(column, out);
    break;
  default:
    copy<arrow::DoubleArray>(column, out);
  }
  return out;
}

std::string cell_of(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row))
    return {};
  std::shared_ptr<arrow::Scalar> value =
      array.GetScalar(row).ValueOr(arrow::MakeNullScalar(arrow::utf8()));
  if (value->type->id() == arrow::Type::DICTIONARY)
    value = static_cast<const arrow::DictionaryScalar&>(*value)
                .GetEncodedValue()
                .ValueOr(value);
  return value->is_valid ? value->ToString() : std::string();
}

} // namespace ballast::data
