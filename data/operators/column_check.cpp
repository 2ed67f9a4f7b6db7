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
  if (const auto* large = std::get_if<uint64_t>(&value))
    return std::to_string(*large);
  char out[32];
  std::snprintf(out, sizeof out, "%.15g", std::get<double>(value));
  return out;
}

/// The Arrow function that is true of values beyond a limit.
const char* beyond(bool is_low, bool open) {
  if (is_low)
    return open ? "less_equal" : "less";
  return open ? "greater_equal" : "greater";
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
  std::shared_ptr<arrow::Scalar> number;
  if (const auto* whole = std::get_if<int64_t>(&value))
    number = std::make_shared<arrow::Int64Scalar>(*whole);
  else if (const auto* large = std::get_if<uint64_t>(&value))
    number = std::make_shared<arrow::UInt64Scalar>(*large);
  else
    number = std::make_shared<arrow::DoubleScalar>(std::get<double>(value));
  auto out = arrow::compute::Cast(number, type_);
  if (!out.ok())
    expected("values that it can hold");
  return out->scalar();
}

namespace {

/// A whole number with its sign: all of int64 and of uint64.
struct signed_whole {
  bool negative = false;
  uint64_t size = 0;
};

/// The limit of whole numbers that is the same as any limit: at least 0.5 is at
/// least 1, more than 0.5 likewise. Nothing: it is beyond all of them.
std::optional<signed_whole> whole_of(const check_value& at, bool up) {
  if (const auto* whole = std::get_if<int64_t>(&at))
    return signed_whole{*whole < 0,
                        *whole < 0 ? -uint64_t(*whole) : uint64_t(*whole)};
  if (const auto* large = std::get_if<uint64_t>(&at))
    return signed_whole{false, *large};
  const double number = std::get<double>(at);
  const double rounded = up ? std::ceil(number) : std::floor(number);
  constexpr double beyond_all = 18446744073709551616.0; // 2^64
  if (std::abs(rounded) >= beyond_all)
    return std::nullopt;
  return signed_whole{rounded < 0, uint64_t(std::abs(rounded))};
}

/// Whether a whole double lies above (1) or below (-1) a whole number.
int side_of(double a, const check_value& b) {
  const std::optional<signed_whole> x = whole_of(a, true);
  const signed_whole y = *whole_of(b, true);
  if (!x)
    return 1; // 2^64: only a positive number comes near it
  if (x->size == y.size)
    return 0;
  return (x->size > y.size) != y.negative ? 1 : -1;
}

} // namespace

/// Of a column of whole numbers, compared as these: a limit that the column's
/// widest type does not hold is broken by all of them, or by none.
column_check::bound_limit column_check::whole_limit(const check_limit& limit,
                                                    bool is_low) const {
  // Broken below `min`, and up to what is not more than `above`.
  const bool up = is_low != limit.open;
  const std::optional<signed_whole> at = whole_of(limit.at, up);
  const bool has_sign = arrow::is_signed_integer(type_->id());
  const uint64_t most = has_sign ? uint64_t(INT64_MAX) : UINT64_MAX;
  const uint64_t least = has_sign ? most + 1 : 0; // its size
  const bool negative = at ? at->negative : std::get<double>(limit.at) < 0;
  const bool below_all = negative && (!at || at->size > least);
  const bool above_all = !negative && (!at || at->size > most);
  const auto scalar = [&](uint64_t size) -> std::shared_ptr<arrow::Scalar> {
    if (!has_sign)
      return std::make_shared<arrow::UInt64Scalar>(size);
    return std::make_shared<arrow::Int64Scalar>(
        int64_t(negative ? -size : size));
  };
  if (below_all)
    return is_low ? bound_limit{} : bound_limit{"greater_equal", scalar(least)};
  if (above_all)
    return is_low ? bound_limit{"less_equal", scalar(most)} : bound_limit{};
  return {beyond(is_low, limit.open), scalar(at->size)};
}

/// Numbers are compared exactly, whatever holds them.
column_check::bound_limit column_check::limit_of(const check_limit& limit,
                                                 bool is_low) const {
  const std::string key =
      is_low ? (limit.open ? "above" : "min") : (limit.open ? "below" : "max");
  const bool whole_numbers = arrow::is_integer(type_->id());
  const bool numbers = whole_numbers || arrow::is_floating(type_->id());
  if (!numbers && !is_time_type(*type_))
    refuse(key, "is " + printable(type_->ToString(), 200) +
                    ", which has no limits; expected numbers, dates or times: "
                    "a \"type\" beside it makes them of text");
  if (!numbers || rule_.then == check_action::clip ||
      std::holds_alternative<std::string>(limit.at)) // which is refused there
    return {beyond(is_low, limit.open), scalar_of(limit.at, key)};
  if (whole_numbers)
    return whole_limit(limit, is_low);
  if (const auto* number = std::get_if<double>(&limit.at))
    return {beyond(is_low, limit.open),
            std::make_shared<arrow::DoubleScalar>(*number)};
  // The double nearest to a whole number may lie above it or below; between the
  // two there is none that could be compared.
  const double nearest = std::holds_alternative<uint64_t>(limit.at)
                             ? double(std::get<uint64_t>(limit.at))
                             : double(std::get<int64_t>(limit.at));
  const int off = side_of(nearest, limit.at);
  const bool open = off == 0 ? limit.open : (off > 0) != is_low;
  return {beyond(is_low, open), std::make_shared<arrow::DoubleScalar>(nearest)};
}

void column_check::bind_limits() {
  if (rule_.low)
    low_ = limit_of(*rule_.low, true);
  if (rule_.high)
    high_ = limit_of(*rule_.high, false);
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
  const auto compare = [&](const bound_limit& limit, uint8_t which) {
    if (limit.scalar != nullptr)
      mark_true(*take_arrow(arrow::compute::CallFunction(
                                limit.function, {out.values, limit.scalar}),
                            errc::invalid_data, pointer_)
                     .make_array(),
                which, out.broken);
  };
  compare(low_, low);
  compare(high_, high);
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
  if (low_.scalar != nullptr)
    out.values = replaced(out.values, mask_of(out.broken, low), low_.scalar);
  if (high_.scalar != nullptr)
    out.values = replaced(out.values, mask_of(out.broken, high), high_.scalar);
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
