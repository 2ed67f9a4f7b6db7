#include "data/operators/column_check.hpp"

#include "data/base/arrow_support.hpp"
#include "data/expression/binding.hpp"
#include "data/source/cell_type.hpp"
#include "data/source/column_choice.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <arrow/compute/api.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace ballast::data {

namespace {

using graph::check_action;
using graph::check_limit;
using graph::check_value;

bool is_text_type(const arrow::DataType& type) {
  return type.id() == arrow::Type::STRING ||
         type.id() == arrow::Type::LARGE_STRING;
}

bool is_time_type(const arrow::DataType& type) {
  return arrow::is_temporal(type.id()) && (type.id() == arrow::Type::DATE32 ||
                                           type.id() == arrow::Type::DATE64 ||
                                           type.id() == arrow::Type::TIMESTAMP);
}

std::string value_text(const check_value& value) {
  if (const auto* text = std::get_if<std::string>(&value))
    return "'" + printable(*text, 60) + "'";
  if (const auto* truth = std::get_if<bool>(&value))
    return *truth ? "true" : "false";
  if (const auto* whole = std::get_if<int64_t>(&value))
    return std::to_string(*whole);
  char out[32];
  std::snprintf(out, sizeof out, "%.15g", std::get<double>(value));
  return out;
}

/// Whether a part that Arrow has computed is true; of a null it is not.
void mark_true(const arrow::Array& truth, uint8_t part,
               std::vector<uint8_t>& broken) {
  const auto& bits = static_cast<const arrow::BooleanArray&>(truth);
  for (int64_t row = 0; row < bits.length(); ++row)
    if (broken[size_t(row)] == 0 && bits.IsValid(row) && bits.Value(row))
      broken[size_t(row)] = part;
}

template <class Floats>
void find_nan(const arrow::Array& column, std::vector<uint8_t>& missing) {
  const auto& numbers = static_cast<const Floats&>(column);
  for (int64_t row = 0; row < numbers.length(); ++row)
    if (std::isnan(numbers.Value(row)))
      missing[size_t(row)] = 1;
}

/// Null, or NaN.
std::vector<uint8_t> missing_cells(const arrow::Array& column) {
  std::vector<uint8_t> out(size_t(column.length()));
  if (column.type_id() == arrow::Type::DOUBLE)
    find_nan<arrow::DoubleArray>(column, out);
  if (column.type_id() == arrow::Type::FLOAT)
    find_nan<arrow::FloatArray>(column, out);
  if (column.null_count() > 0)
    for (int64_t row = 0; row < column.length(); ++row)
      if (column.IsNull(row))
        out[size_t(row)] = 1;
  return out;
}

std::shared_ptr<arrow::Array> mask_of(const std::vector<uint8_t>& broken,
                                      uint8_t part) {
  arrow::BooleanBuilder out;
  check_arrow(out.Reserve(int64_t(broken.size())), errc::device_failed,
              "a check");
  for (const uint8_t one : broken)
    out.UnsafeAppend(part == 0 ? one != 0 : one == part);
  return take_arrow(out.Finish(), errc::device_failed, "a check");
}

std::shared_ptr<arrow::Array>
replaced(const std::shared_ptr<arrow::Array>& column,
         const std::shared_ptr<arrow::Array>& mask,
         const std::shared_ptr<arrow::Scalar>& by) {
  return take_arrow(arrow::compute::IfElse(mask, by, column),
                    errc::device_failed, "a check")
      .make_array();
}

std::vector<std::string_view> cells_of_texts(const arrow::Array& column) {
  std::vector<std::string_view> out(size_t(column.length()));
  for (int64_t row = 0; row < column.length(); ++row)
    if (column.IsValid(row))
      out[size_t(row)] =
          column.type_id() == arrow::Type::STRING
              ? static_cast<const arrow::StringArray&>(column).GetView(row)
              : static_cast<const arrow::LargeStringArray&>(column).GetView(
                    row);
  return out;
}

} // namespace

column_check::column_check(graph::check_rule rule,
                           const std::shared_ptr<arrow::DataType>& type,
                           const std::string& pointer)
    : rule_(std::move(rule)), pointer_(pointer + "/rules/" + rule_.column) {
  prepare_functions();
  bind_type(type);
  bind_limits();
  bind_pattern(*type);
  bind_set();
}

void column_check::refuse(const std::string& key,
                          const std::string& why) const {
  const std::string at = pointer_ + (key.empty() ? "" : "/" + key);
  throw ballast_error(
      errc::invalid_data,
      printable(at) + ": column '" + printable(rule_.column) + "' " + why, at);
}

void column_check::bind_type(const std::shared_ptr<arrow::DataType>& from) {
  type_ = from;
  if (!rule_.type)
    return;
  cells_ = *parse_word<column_type>(ballast::to_string(*rule_.type));
  type_ = arrow_type(cells_);
  if (from->Equals(type_) || (is_text_type(*from) && is_text_type(*type_))) {
    type_ = from;
    return;
  }
  is_text_ = is_text_type(*from);
  if (is_text_)
    return;
  const std::string at = pointer_ + "/type";
  const auto schema = arrow::schema({arrow::field("v", from)});
  cast_ = at_field(at, [&] {
    return parse("cast(v as " + ballast::to_string(*rule_.type) + ")", at)
        .bind(schema);
  });
}

std::shared_ptr<arrow::Scalar>
column_check::scalar_of(const check_value& value,
                        const std::string& key) const {
  const auto expected = [&](const std::string& what) {
    refuse(key, "is " + printable(type_->ToString(), 200) + "; expected " +
                    what + ", found " + value_text(value));
  };
  const auto* text = std::get_if<std::string>(&value);
  if (is_text_type(*type_) && text == nullptr)
    expected("texts, or a \"type\" beside them");
  if (type_->id() == arrow::Type::BOOL && !std::holds_alternative<bool>(value))
    expected("true or false");
  if (is_time_type(*type_) && text == nullptr)
    expected("dates or times as text, such as \"2026-01-31\"");
  if (text != nullptr) {
    if (!is_text_type(*type_) && !is_time_type(*type_))
      expected("values of this type; \"type\" makes others of text");
    auto out = arrow::Scalar::Parse(type_, *text);
    if (!out.ok())
      expected(is_time_type(*type_) ? "a date or time such as \"2026-01-31\""
                                    : "text");
    return *out;
  }
  if (const auto* truth = std::get_if<bool>(&value)) {
    if (type_->id() != arrow::Type::BOOL)
      expected("values of this type");
    return std::make_shared<arrow::BooleanScalar>(*truth);
  }
  if (!arrow::is_integer(type_->id()) && !arrow::is_floating(type_->id()))
    expected("a column of numbers: \"type\" makes them");
  const auto* whole = std::get_if<int64_t>(&value);
  const std::shared_ptr<arrow::Scalar> number =
      whole != nullptr
          ? std::shared_ptr<arrow::Scalar>(
                std::make_shared<arrow::Int64Scalar>(*whole))
          : std::make_shared<arrow::DoubleScalar>(std::get<double>(value));
  auto out = arrow::compute::Cast(number, type_);
  if (!out.ok())
    expected("values that it can hold");
  return out->scalar();
}

/// Of numbers as they are compared, not as the column has them.
std::shared_ptr<arrow::Scalar>
column_check::limit_of(const check_limit& limit, const std::string& key) const {
  const bool numbers =
      arrow::is_integer(type_->id()) || arrow::is_floating(type_->id());
  if (!numbers && !is_time_type(*type_))
    refuse(key, "is " + printable(type_->ToString(), 200) +
                    ", which has no limits; expected numbers, dates or times: "
                    "a \"type\" beside it makes them of text");
  if (!numbers || rule_.then == check_action::clip)
    return scalar_of(limit.at, key);
  if (std::holds_alternative<std::string>(limit.at))
    return scalar_of(limit.at, key); // which refuses it
  const auto* whole = std::get_if<int64_t>(&limit.at);
  if (whole == nullptr)
    return std::make_shared<arrow::DoubleScalar>(std::get<double>(limit.at));
  if (arrow::is_signed_integer(type_->id()))
    return std::make_shared<arrow::Int64Scalar>(*whole);
  if (arrow::is_unsigned_integer(type_->id()) && *whole >= 0)
    return std::make_shared<arrow::UInt64Scalar>(uint64_t(*whole));
  return std::make_shared<arrow::DoubleScalar>(double(*whole));
}

void column_check::bind_limits() {
  if (rule_.low)
    low_ = limit_of(*rule_.low, rule_.low->open ? "above" : "min");
  if (rule_.high)
    high_ = limit_of(*rule_.high, rule_.high->open ? "below" : "max");
}

void column_check::bind_pattern(const arrow::DataType& from) {
  if (rule_.matches.empty())
    return;
  if (!is_text_type(from))
    refuse("matches", "is " + printable(from.ToString(), 200) +
                          "; expected text: \"cast\" it before");
  const arrow::compute::MatchSubstringOptions how("\\A(?:" + rule_.matches +
                                                  ")\\z");
  // Of no row it would not even be parsed.
  const auto none = take_arrow(arrow::MakeArrayOfNull(arrow::utf8(), 1),
                               errc::device_failed, pointer_);
  const auto tried =
      arrow::compute::CallFunction("match_substring_regex", {none}, &how);
  if (!tried.ok())
    refuse("matches", "has a regular expression that RE2 does not take: " +
                          printable(tried.status().message(), 300));
}

void column_check::bind_set() {
  if (rule_.in.empty())
    return;
  std::unique_ptr<arrow::ArrayBuilder> out;
  check_arrow(arrow::MakeBuilder(arrow::default_memory_pool(), type_, &out),
              errc::device_failed, pointer_);
  for (const check_value& one : rule_.in)
    check_arrow(out->AppendScalar(*scalar_of(one, "in")), errc::device_failed,
                pointer_);
  set_ = take_arrow(out->Finish(), errc::device_failed, pointer_);
}

std::shared_ptr<arrow::Array>
column_check::converted(const std::shared_ptr<arrow::Array>& column,
                        std::vector<uint8_t>& broken) const {
  if (is_text_)
    return array_of_cells({cells_, false, true}, cells_of_texts(*column),
                          [&](size_t bad) { broken[bad] = of_type; });
  if (!cast_)
    return column;
  const auto schema = arrow::schema({arrow::field("v", column->type())});
  auto rows = arrow::RecordBatch::Make(schema, column->length(), {column});
  try {
    return cast_->evaluate(*rows);
  } catch (const source_error&) {
    for (const failing_row& one : cast_->failing(*rows))
      broken[size_t(one.row)] = of_type;
  }
  rows = arrow::RecordBatch::Make(
      schema, column->length(),
      {replaced(column, mask_of(broken, of_type),
                arrow::MakeNullScalar(column->type()))});
  return cast_->evaluate(*rows);
}

column_check::checked
column_check::check(const std::shared_ptr<arrow::Array>& column) const {
  checked out;
  out.broken.resize(size_t(column->length()));
  out.values = converted(column, out.broken);
  const std::vector<uint8_t> none = missing_cells(*out.values);
  if (rule_.not_null)
    for (size_t row = 0; row < none.size(); ++row)
      if (none[row] != 0 && out.broken[row] == 0)
        out.broken[row] = missing;
  const auto compare = [&](const char* function,
                           const std::shared_ptr<arrow::Scalar>& limit,
                           uint8_t which) {
    mark_true(
        *take_arrow(arrow::compute::CallFunction(function, {out.values, limit}),
                    errc::invalid_data, pointer_)
             .make_array(),
        which, out.broken);
  };
  if (low_ != nullptr)
    compare(rule_.low->open ? "less_equal" : "less", low_, low);
  if (high_ != nullptr)
    compare(rule_.high->open ? "greater_equal" : "greater", high_, high);
  if (!rule_.matches.empty()) {
    const arrow::compute::MatchSubstringOptions how("\\A(?:" + rule_.matches +
                                                    ")\\z");
    const auto fits = take_arrow(
        arrow::compute::CallFunction("match_substring_regex", {column}, &how),
        errc::invalid_data, pointer_);
    mark_true(
        *take_arrow(arrow::compute::Invert(fits), errc::invalid_data, pointer_)
             .make_array(),
        pattern, out.broken);
  }
  if (set_ != nullptr) {
    const auto found =
        take_arrow(arrow::compute::IsIn(out.values,
                                        arrow::compute::SetLookupOptions(set_)),
                   errc::invalid_data, pointer_);
    const auto& bits =
        static_cast<const arrow::BooleanArray&>(*found.make_array());
    for (size_t row = 0; row < none.size(); ++row)
      if (out.broken[row] == 0 && none[row] == 0 && !bits.Value(int64_t(row)))
        out.broken[row] = set;
  }
  if (rule_.then == check_action::null)
    out.values = replaced(out.values, mask_of(out.broken, 0),
                          arrow::MakeNullScalar(type_));
  if (rule_.then != check_action::clip)
    return out;
  if (low_ != nullptr)
    out.values = replaced(out.values, mask_of(out.broken, low), low_);
  if (high_ != nullptr)
    out.values = replaced(out.values, mask_of(out.broken, high), high_);
  return out;
}

std::string column_check::reason(uint8_t of) const {
  switch (of) {
  case of_type:
    return "expected " + ballast::to_string(*rule_.type) +
           ", found something else";
  case missing:
    return "the value is missing";
  case low:
    return std::string("expected ") +
           (rule_.low->open ? "more than " : "at least ") +
           value_text(rule_.low->at) + ", found less";
  case high:
    return std::string("expected ") +
           (rule_.high->open ? "less than " : "at most ") +
           value_text(rule_.high->at) + ", found more";
  case pattern:
    return "expected a text that matches " + printable(rule_.matches, 100) +
           ", found another";
  default:
    break;
  }
  constexpr size_t named_max = 5;
  std::string all;
  for (size_t i = 0; i < std::min(named_max, rule_.in.size()); ++i)
    all += (i == 0 ? "" : ", ") + value_text(rule_.in[i]);
  if (rule_.in.size() > named_max)
    all += ", ... (" + std::to_string(rule_.in.size()) + " in all)";
  return "expected one of " + all + ", found another";
}

} // namespace ballast::data
