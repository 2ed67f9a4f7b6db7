#include "data/expression/type_rules.hpp"

#include <arrow/api.h>
#include <arrow/compute/cast.h>
#include <arrow/util/decimal.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace ballast::data {

namespace {

using type_pointer = std::shared_ptr<arrow::DataType>;

constexpr int32_t digits_of_uint64 = 20;

/// Refuses what does not fit, but for the last digits of a float.
arrow::compute::CastOptions careful(const type_pointer& type) {
  arrow::compute::CastOptions out = arrow::compute::CastOptions::Safe(type);
  out.allow_float_truncate = arrow::is_floating(type->id());
  return out;
}

/// Arrow casts integers only to decimals that hold all of their type, and from
/// there to others by their value.
type_pointer step_between(const arrow::DataType& from,
                          const arrow::DataType& to) {
  if (arrow::is_integer(from.id()) && arrow::is_decimal(to.id()))
    return arrow::decimal128(digits_of_uint64, 0);
  return nullptr;
}

std::shared_ptr<arrow::Scalar>
cast_scalar(const std::shared_ptr<arrow::Scalar>& scalar,
            const type_pointer& type) {
  if (const type_pointer step = step_between(*scalar->type, *type);
      step != nullptr && !step->Equals(*type)) {
    const auto middle = cast_scalar(scalar, step);
    return middle == nullptr ? nullptr : cast_scalar(middle, type);
  }
  auto out = arrow::compute::Cast(arrow::Datum(scalar), careful(type));
  return out.ok() ? out->scalar() : nullptr;
}

bool fits_float(const literal_value& value, const arrow::DataType& type) {
  const bool single = type.id() == arrow::Type::FLOAT;
  if (const auto* number = std::get_if<double>(&value))
    return !single ||
           std::fabs(*number) <= double(std::numeric_limits<float>::max());
  const auto* number = std::get_if<int64_t>(&value);
  constexpr int64_t whole_floats = 1 << 24;
  return !single || (number != nullptr && *number >= -whole_floats &&
                     *number <= whole_floats);
}

/// True if the number keeps its value (as a float: nearly) in that type.
bool fits_number(const literal_value& value, const type_pointer& type,
                 literal_use use) {
  if (arrow::is_floating(type->id()))
    return fits_float(value, *type);
  const auto* number = std::get_if<double>(&value);
  if (number == nullptr)
    return cast_scalar(scalar_of(value), type) != nullptr;
  constexpr double whole_doubles = 9007199254740992; // 2^53
  return use == literal_use::compared && std::fabs(*number) <= whole_doubles &&
         *number == std::trunc(*number) &&
         cast_scalar(arrow::MakeScalar(int64_t(*number)), type) != nullptr;
}

/// Digits before and behind the point.
struct decimal_digits {
  int32_t whole = 0, fraction = 0;
};

decimal_digits digits_of(const arrow::DataType& type) {
  if (!arrow::is_decimal(type.id()))
    return {digits_of_uint64, 0};
  const auto& decimal = static_cast<const arrow::DecimalType&>(type);
  return {decimal.precision() - decimal.scale(), decimal.scale()};
}

/// Holds both. Of integers, an uint64 and a signed one need a decimal.
type_pointer wider(const type_pointer& a, const type_pointer& b) {
  if (a->Equals(*b))
    return a;
  if (arrow::is_floating(a->id()) || arrow::is_floating(b->id()))
    return arrow::float64();
  const auto is_any = [&](bool (*condition)(arrow::Type::type)) {
    return condition(a->id()) || condition(b->id());
  };
  const bool large =
      is_any([](arrow::Type::type id) { return id == arrow::Type::UINT64; });
  if (!is_any(arrow::is_decimal) &&
      !(large && is_any(arrow::is_signed_integer)))
    return large ? arrow::uint64() : arrow::int64();
  const decimal_digits left = digits_of(*a);
  const decimal_digits right = digits_of(*b);
  const int32_t fraction = std::max(left.fraction, right.fraction);
  const int32_t digits = std::max(left.whole, right.whole) + fraction;
  if (digits > arrow::Decimal256Type::kMaxPrecision)
    return arrow::float64();
  return digits > arrow::Decimal128Type::kMaxPrecision
             ? arrow::decimal256(digits, fraction)
             : arrow::decimal128(digits, fraction);
}

type_pointer common_number(std::span<const typed_expression> parts,
                           literal_use use) {
  type_pointer out;
  for (const bool literals : {false, true})
    for (const typed_expression& one : parts) {
      if (one.is_literal() != literals ||
          (literals && out != nullptr &&
           fits_number(one.node->value, out, use)))
        continue;
      out = out == nullptr ? one.type : wider(out, one.type);
    }
  return out;
}

type_pointer common_text(std::span<const typed_expression> parts) {
  for (const typed_expression& one : parts)
    if (one.type->id() == arrow::Type::LARGE_STRING)
      return arrow::large_utf8();
  return arrow::utf8();
}

/// Dates, timestamps, or both. A literal without a zone is UTC where it meets
/// one with a zone.
type_pointer common_time(std::span<const typed_expression> parts) {
  bool only_dates = true;
  bool zoned = false;
  bool zoneless = false;
  std::string zone = "UTC";
  auto unit = arrow::TimeUnit::SECOND;
  bool unit_known = false;
  for (const typed_expression& one : parts) {
    if (family_of(*one.type) != type_family::timestamp)
      continue;
    only_dates = false;
    const auto& type = static_cast<const arrow::TimestampType&>(*one.type);
    if (one.is_literal()) {
      zoned |= !type.timezone().empty();
      continue;
    }
    (type.timezone().empty() ? zoneless : zoned) = true;
    if (!type.timezone().empty() && zone == "UTC")
      zone = type.timezone();
    unit = std::max(unit, type.unit());
    unit_known = true;
  }
  if (only_dates)
    return arrow::date32();
  if (zoned && zoneless)
    return nullptr;
  constexpr int64_t of_unit[] = {1'000'000, 1'000, 1, 1};
  for (const typed_expression& one : parts)
    if (const auto* time = std::get_if<literal_time>(&one.node->value);
        one.is_literal() && time != nullptr &&
        (!unit_known || time->microseconds % of_unit[unit] != 0))
      unit = std::max(unit, arrow::TimeUnit::MICRO);
  return arrow::timestamp(unit, zoned ? zone : "");
}

bool is_time(type_family family) {
  return family == type_family::date || family == type_family::timestamp;
}

} // namespace

type_family family_of(const arrow::DataType& type) {
  switch (type.id()) {
  case arrow::Type::NA:
    return type_family::null;
  case arrow::Type::BOOL:
    return type_family::boolean;
  case arrow::Type::STRING:
  case arrow::Type::LARGE_STRING:
    return type_family::text;
  case arrow::Type::DATE32:
  case arrow::Type::DATE64:
    return type_family::date;
  case arrow::Type::TIMESTAMP:
    return type_family::timestamp;
  default:
    break;
  }
  if (arrow::is_integer(type.id()))
    return type_family::integer;
  if (arrow::is_floating(type.id()))
    return type_family::floating;
  return arrow::is_decimal(type.id()) ? type_family::decimal
                                      : type_family::other;
}

bool is_number(const arrow::DataType& type) {
  const type_family family = family_of(type);
  return family == type_family::integer || family == type_family::floating ||
         family == type_family::decimal;
}

std::string name_of(const arrow::DataType& type) {
  switch (type.id()) {
  case arrow::Type::DOUBLE:
    return "float64";
  case arrow::Type::FLOAT:
    return "float32";
  case arrow::Type::STRING:
  case arrow::Type::LARGE_STRING:
    return "text";
  case arrow::Type::DATE32:
  case arrow::Type::DATE64:
    return "date";
  default:
    return type.ToString();
  }
}

type_pointer computed_type(const type_pointer& type) {
  switch (type->id()) {
  case arrow::Type::DICTIONARY:
    return computed_type(
        static_cast<const arrow::DictionaryType&>(*type).value_type());
  case arrow::Type::STRING_VIEW:
    return arrow::utf8();
  case arrow::Type::BINARY_VIEW:
    return arrow::binary();
  case arrow::Type::HALF_FLOAT:
    return arrow::float32();
  default:
    return type;
  }
}

type_pointer common_type(std::span<const typed_expression> parts,
                         literal_use use) {
  std::vector<typed_expression> known;
  for (const typed_expression& one : parts)
    if (family_of(*one.type) != type_family::null)
      known.push_back(one);
  if (known.empty())
    return arrow::null();
  const auto all = [&known](auto condition) {
    return std::all_of(known.begin(), known.end(), [&](const auto& one) {
      return condition(family_of(*one.type));
    });
  };
  if (std::all_of(known.begin(), known.end(),
                  [](const auto& one) { return is_number(*one.type); }))
    return common_number(known, use);
  if (all([](type_family family) { return family == type_family::text; }))
    return common_text(known);
  if (all(is_time))
    return common_time(known);
  for (const typed_expression& one : known)
    if (!one.type->Equals(*known[0].type))
      return nullptr;
  return known[0].type;
}

type_pointer arithmetic_type(std::span<const typed_expression> parts,
                             const typed_expression& part) {
  bool floating = false;
  bool decimal = false;
  bool large = false;
  bool is_signed = false;
  for (const typed_expression& one : parts) {
    floating |= arrow::is_floating(one.type->id());
    decimal |= arrow::is_decimal(one.type->id());
    large |= one.type->id() == arrow::Type::UINT64;
    const auto* literal = std::get_if<int64_t>(&one.node->value);
    is_signed |= arrow::is_signed_integer(one.type->id()) &&
                 !(one.is_literal() && literal != nullptr && *literal >= 0);
  }
  if (floating)
    return arrow::float64();
  if (decimal && (!part.is_literal() || is_number(part.node->value))) {
    if (arrow::is_decimal(part.type->id()))
      return part.type;
    const size_t digits = print_literal(part.node->value).size();
    return arrow::decimal128(
        part.is_literal() ? int32_t(digits) : digits_of_uint64, 0);
  }
  if (decimal)
    return part.type; // null
  return large && !is_signed ? arrow::uint64() : arrow::int64();
}

std::shared_ptr<arrow::Scalar> scalar_of(const literal_value& value) {
  struct {
    std::shared_ptr<arrow::Scalar> operator()(const literal_null&) const {
      return arrow::MakeNullScalar(arrow::null());
    }
    std::shared_ptr<arrow::Scalar> operator()(bool value) const {
      return arrow::MakeScalar(value);
    }
    std::shared_ptr<arrow::Scalar> operator()(int64_t value) const {
      return arrow::MakeScalar(value);
    }
    std::shared_ptr<arrow::Scalar> operator()(uint64_t value) const {
      return arrow::MakeScalar(value);
    }
    std::shared_ptr<arrow::Scalar> operator()(double value) const {
      return arrow::MakeScalar(value);
    }
    std::shared_ptr<arrow::Scalar> operator()(const std::string& value) const {
      return arrow::MakeScalar(value);
    }
    std::shared_ptr<arrow::Scalar> operator()(const literal_date& date) const {
      return std::make_shared<arrow::Date32Scalar>(date.days);
    }
    std::shared_ptr<arrow::Scalar> operator()(const literal_time& time) const {
      return std::make_shared<arrow::TimestampScalar>(
          time.microseconds, arrow::TimeUnit::MICRO, time.zoned ? "UTC" : "");
    }
  } make;
  return std::visit(make, value);
}

arrow::Result<typed_expression> convert(typed_expression part,
                                        const type_pointer& type) {
  if (part.type->Equals(*type))
    return part;
  if (const type_pointer step = step_between(*part.type, *type);
      step != nullptr && !step->Equals(*type)) {
    ARROW_ASSIGN_OR_RAISE(part, convert(std::move(part), step));
  }
  const arrow::compute::CastOptions options = careful(type);
  if (const arrow::Datum* literal = part.expression.literal()) {
    ARROW_ASSIGN_OR_RAISE(arrow::Datum out,
                          arrow::compute::Cast(*literal, options));
    part.expression = arrow::compute::literal(out);
  } else {
    if (!arrow::compute::CanCast(*part.type, *type))
      return arrow::Status::TypeError("no cast from ", *part.type, " to ",
                                      *type);
    part.expression =
        arrow::compute::call("cast", {std::move(part.expression)}, options);
  }
  part.type = type;
  return part;
}

} // namespace ballast::data
