#include "data/operators/join_shape.hpp"

#include "data/base/arrow_support.hpp"
#include "data/operators/row_batches.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <arrow/compute/cast.h>
#include <arrow/compute/initialize.h>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

namespace ballast::data {

namespace {

bool is_string_kind(const arrow::DataType& type) {
  return arrow::is_string(type.id()) || type.id() == arrow::Type::STRING_VIEW;
}

bool is_binary_kind(const arrow::DataType& type) {
  return type.id() == arrow::Type::BINARY ||
         type.id() == arrow::Type::LARGE_BINARY ||
         type.id() == arrow::Type::BINARY_VIEW;
}

std::shared_ptr<arrow::DataType> signed_of(int bits) {
  return bits <= 8    ? arrow::int8()
         : bits <= 16 ? arrow::int16()
         : bits <= 32 ? arrow::int32()
                      : arrow::int64();
}

bool is_number(const arrow::DataType& type) {
  return arrow::is_integer(type.id()) || arrow::is_floating(type.id());
}

/// As which both are compared; null if they are not. Whole numbers meet those
/// with fractions, as the numbers of a CSV file are, as float64, in which they
/// are equal if they are as numbers. What the type does not hold exactly, such
/// as a uint64 beyond int64, equals nothing of the other side, so that it may
/// become null there.
std::shared_ptr<arrow::DataType>
common_type(const std::shared_ptr<arrow::DataType>& a,
            const std::shared_ptr<arrow::DataType>& b) {
  if (a->Equals(*b) || b->id() == arrow::Type::NA)
    return a;
  if (a->id() == arrow::Type::NA)
    return b;
  if ((is_string_kind(*a) && is_string_kind(*b)) ||
      (is_binary_kind(*a) && is_binary_kind(*b)))
    return a;
  if (!is_number(*a) || !is_number(*b))
    return nullptr;
  if (arrow::is_floating(a->id()) || arrow::is_floating(b->id()))
    return arrow::float64();
  const bool a_signed = arrow::is_signed_integer(a->id());
  const bool b_signed = arrow::is_signed_integer(b->id());
  if (a_signed == b_signed)
    return a->byte_width() >= b->byte_width() ? a : b;
  const int a_bits = a->byte_width() * 8 * (a_signed ? 1 : 2);
  const int b_bits = b->byte_width() * 8 * (b_signed ? 1 : 2);
  return signed_of(std::max(a_bits, b_bits));
}

bool holds(const arrow::DataType& type, const arrow::DataType& other) {
  return !(type.id() == arrow::Type::INT64 &&
           other.id() == arrow::Type::UINT64);
}

/// Whole numbers that no float64 is become null: they equal none.
template <class Number>
std::shared_ptr<arrow::Array> as_float64(const arrow::Array& column) {
  const auto& values =
      static_cast<const typename arrow::CTypeTraits<Number>::ArrayType&>(
          column);
  arrow::DoubleBuilder out;
  check_arrow(out.Reserve(values.length()), errc::internal, "a key");
  for (int64_t i = 0; i < values.length(); ++i) {
    const auto number = double(values.IsNull(i) ? 0 : values.Value(i));
    // 2^63 and 2^64 are no values of the type, so the way back is defined.
    if (values.IsNull(i) ||
        number >= (std::is_signed_v<Number> ? 0x1p63 : 0x1p64) ||
        Number(number) != values.Value(i))
      out.UnsafeAppendNull();
    else
      out.UnsafeAppend(number);
  }
  return take_arrow(out.Finish(), errc::internal, "a key");
}

/// Numbers beyond int64 become null: they equal none.
std::shared_ptr<arrow::Array> as_int64(const arrow::Array& column) {
  const auto& values = static_cast<const arrow::UInt64Array&>(column);
  arrow::Int64Builder out;
  check_arrow(out.Reserve(values.length()), errc::internal, "a key");
  for (int64_t i = 0; i < values.length(); ++i)
    if (values.IsNull(i) ||
        values.Value(i) > uint64_t(std::numeric_limits<int64_t>::max()))
      out.UnsafeAppendNull();
    else
      out.UnsafeAppend(int64_t(values.Value(i)));
  return take_arrow(out.Finish(), errc::internal, "a key");
}

} // namespace

bool keeps_right(join_kind kind) {
  return kind == join_kind::right || kind == join_kind::full;
}

bool keeps_left(join_kind kind) {
  return kind == join_kind::left || kind == join_kind::full;
}

bool only_left(join_kind kind) {
  return kind == join_kind::semi || kind == join_kind::anti;
}

std::shared_ptr<arrow::Array>
as_type(const std::shared_ptr<arrow::Array>& column,
        const std::shared_ptr<arrow::DataType>& type) {
  if (column->type()->Equals(*type))
    return column;
  return take_arrow(arrow::compute::Cast(*column, type), errc::invalid_data,
                    "a key");
}

arrow::ArrayVector join_keys::of(const arrow::RecordBatch& rows) const {
  arrow::ArrayVector out;
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::shared_ptr<arrow::Array> column = rows.column(columns[i]);
    const arrow::DataType& is = *column->type();
    const bool is_empty = is.id() == arrow::Type::NA; // takes the other's type
    if (!is_empty && !is_number(is)) // texts of all kinds have equal bytes
      out.push_back(column);
    else if (types[i]->id() == arrow::Type::DOUBLE &&
             is.id() == arrow::Type::INT64)
      out.push_back(as_float64<int64_t>(*column));
    else if (types[i]->id() == arrow::Type::DOUBLE &&
             is.id() == arrow::Type::UINT64)
      out.push_back(as_float64<uint64_t>(*column));
    else if (is_empty || holds(*types[i], is))
      out.push_back(as_type(column, types[i]));
    else
      out.push_back(as_int64(*column));
  }
  return out;
}

std::shared_ptr<arrow::RecordBatch>
join_keys::not_null(const std::shared_ptr<arrow::RecordBatch>& rows,
                    const operator_context& context) const {
  std::vector<std::shared_ptr<arrow::Array>> with_nulls;
  for (int column : columns)
    if (rows->column(column)->ComputeLogicalNullCount() > 0)
      with_nulls.push_back(rows->column(column));
  if (with_nulls.empty())
    return rows;
  row_indices kept;
  for (uint32_t row = 0; row < rows->num_rows(); ++row)
    if (std::none_of(with_nulls.begin(), with_nulls.end(),
                     [&](const auto& one) { return one->IsNull(row); }))
      kept.push_back(row);
  return taken(rows, kept, context);
}

join_shape::join_shape(const operator_input& left, const operator_input& right,
                       const join_terms& terms, const operator_context& context)
    : context_(context) {
  static const arrow::Status ready = arrow::compute::Initialize();
  check_arrow(ready, errc::internal, "Arrow's casts");
  find_keys(left, right, terms);
  add_left(left, right, terms);
  if (!only_left(terms.kind))
    add_right(left, right, terms);
  const int left_origin = left.schema()->GetFieldIndex(origin_column);
  const int right_origin = right.schema()->GetFieldIndex(origin_column);
  columns_.push_back({left_origin, keeps_right(terms.kind) ? right_origin : -1,
                      arrow::uint64()});
  fields_.push_back(arrow::field(origin_column, arrow::uint64(), false));
  schema_ = arrow::schema(std::move(fields_));
}

void join_shape::refuse(const std::string& what) const {
  throw ballast_error(errc::invalid_job,
                      context_.pointer + ": " + printable(context_.name) + " " +
                          what,
                      context_.pointer);
}

void join_shape::find_keys(const operator_input& left,
                           const operator_input& right,
                           const join_terms& terms) {
  const std::vector<std::string>& on_right =
      terms.on_right.empty() ? terms.on_left : terms.on_right;
  if (terms.on_left.empty() || terms.on_left.size() != on_right.size())
    refuse("joins " + std::to_string(terms.on_left.size()) +
           " columns of the left side with " + std::to_string(on_right.size()) +
           " of the right side; expected as many, at least one");
  for (size_t i = 0; i < on_right.size(); ++i) {
    const int its = left.find_key(terms.on_left[i], "joins by");
    const int other =
        right.find_key(on_right[i], "joins, on its right side, by");
    const auto& type = left.schema()->field(its)->type();
    const auto& other_type = right.schema()->field(other)->type();
    const auto common = common_type(type, other_type);
    if (common == nullptr)
      refuse("joins the column '" + printable(terms.on_left[i]) + "' (" +
             printable(type->ToString(), 200) + ") with '" +
             printable(on_right[i]) + "' (" +
             printable(other_type->ToString(), 200) +
             "), which cannot be compared; cast one of them");
    left_keys_.columns.push_back(its);
    right_keys_.columns.push_back(other);
    left_keys_.types.push_back(common);
    right_keys_.types.push_back(common);
  }
}

int join_shape::shared_key(int left_column, const operator_input& left,
                           const operator_input& right) const {
  for (size_t i = 0; i < left_keys_.columns.size(); ++i)
    if (left_keys_.columns[i] == left_column &&
        right.schema()->field(right_keys_.columns[i])->name() ==
            left.schema()->field(left_column)->name())
      return int(i);
  return -1;
}

void join_shape::add_left(const operator_input& left,
                          const operator_input& right,
                          const join_terms& terms) {
  for (int i = 0; i < left.schema()->num_fields(); ++i) {
    const std::shared_ptr<arrow::Field>& field = left.schema()->field(i);
    if (field->name() == origin_column)
      continue;
    joined_column column{i, -1, field->type()};
    const int key = shared_key(i, left, right);
    if (key >= 0 && keeps_right(terms.kind)) {
      column.right = right_keys_.columns[size_t(key)];
      column.type = left_keys_.types[size_t(key)];
      const auto& other = right.schema()->field(column.right)->type();
      if (!holds(*column.type, *field->type()) || !holds(*column.type, *other))
        refuse("joins the column '" + printable(field->name()) + "' (" +
               field->type()->ToString() + ") with one of the same name (" +
               other->ToString() +
               "); no type holds the values of both: cast one of them");
    }
    fields_.push_back(arrow::field(field->name(), column.type));
    columns_.push_back(std::move(column));
  }
}

void join_shape::add_right(const operator_input& left,
                           const operator_input& right,
                           const join_terms& terms) {
  const auto taken = [&](const std::string& name) {
    return std::any_of(fields_.begin(), fields_.end(),
                       [&](const auto& one) { return one->name() == name; });
  };
  for (int i = 0; i < right.schema()->num_fields(); ++i) {
    const std::shared_ptr<arrow::Field>& field = right.schema()->field(i);
    if (field->name() == origin_column)
      continue;
    const int same = left.schema()->GetFieldIndex(field->name());
    const int key = same < 0 ? -1 : shared_key(same, left, right);
    if (key >= 0 && right_keys_.columns[size_t(key)] == i)
      continue;
    const std::string name =
        same < 0 ? field->name() : field->name() + terms.suffix;
    if (taken(name) || name == origin_column ||
        (same >= 0 && right.schema()->GetFieldIndex(name) >= 0))
      refuse("has two columns named '" + printable(name) +
             "'; choose another suffix than '" + printable(terms.suffix) +
             "', or rename one");
    fields_.push_back(arrow::field(name, field->type()));
    columns_.push_back({-1, i, field->type()});
  }
}

} // namespace ballast::data
