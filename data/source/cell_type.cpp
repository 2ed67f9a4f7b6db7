#include "data/source/cell_type.hpp"

#include "data/base/arrow_support.hpp"
#include "data/expression/calendar.hpp"
#include "data/source/cell_number.hpp"
#include "data/source/column_choice.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/check.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/nearest_word.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace ballast::data {

namespace {

constexpr const char* memory = "a column of cells"; // for what there is none of

bool is_digit(char one) {
  return one >= '0' && one <= '9';
}

std::string_view without_sign(std::string_view cell) {
  return cell.substr(cell.starts_with('-') || cell.starts_with('+') ? 1 : 0);
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

/// As long as both are exact.
bool is_exact(int64_t whole) {
  constexpr int64_t exact = int64_t{1} << 53;
  if (whole >= -exact && whole <= exact)
    return true;
  const auto number = double(whole);
  return number < 0x1p63 && int64_t(number) == whole;
}

/// Digits that int64 does not hold.
bool is_exact(std::string_view digits, double number) {
  char text[400];
  const int size = std::snprintf(text, sizeof text, "%.0f", std::fabs(number));
  return digits == std::string_view(text, size_t(std::max(size, 0)));
}

/// As people write it, zeros in front allowed.
bool read_whole(std::string_view cell, int64_t& out) {
  if (cell.starts_with('+') && cell.size() > 1 && is_digit(cell[1]))
    cell.remove_prefix(1);
  const char* end = cell.data() + cell.size();
  const auto [rest, error] = std::from_chars(cell.data(), end, out);
  return error == std::errc{} && rest == end;
}

bool read_bool(std::string_view cell, bool& out) {
  std::string lower(cell);
  for (char& one : lower)
    one = one >= 'A' && one <= 'Z' ? char(one - 'A' + 'a') : one;
  out = lower == "true" || lower == "yes" || lower == "1";
  return out || lower == "false" || lower == "no" || lower == "0";
}

template <class Builder, class Value, class Read>
std::shared_ptr<arrow::Array> built(Builder out,
                                    const std::vector<std::string_view>& cells,
                                    size_t& bad, Value value, Read read) {
  check_arrow(out.Reserve(int64_t(cells.size())), errc::device_failed, memory);
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].empty()) {
      out.UnsafeAppendNull();
    } else if (read(cells[i], value)) {
      out.UnsafeAppend(value);
    } else {
      bad = i;
      return nullptr;
    }
  }
  return take_arrow(out.Finish(), errc::device_failed, memory);
}

/// Text that is not UTF-8 would come out of a file of another format changed,
/// or not at all.
std::shared_ptr<arrow::Array>
texts_of(const std::vector<std::string_view>& cells, size_t& bad) {
  arrow::StringBuilder out;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (!is_utf8(cells[i])) {
      bad = i;
      return nullptr;
    }
    check_arrow(cells[i].empty() ? out.AppendNull() : out.Append(cells[i]),
                errc::device_failed, memory);
  }
  return take_arrow(out.Finish(), errc::device_failed, memory);
}

std::string expected_of(column_type type) {
  switch (type) {
  case column_type::text:
    return "text";
  case column_type::int64:
    return "a whole number (int64)";
  case column_type::float64:
    return "a number (float64)";
  case column_type::boolean:
    return "true, false, yes, no, 1 or 0";
  case column_type::date:
    return "a date such as 2026-01-31";
  case column_type::timestamp:
    break;
  }
  return "a time such as 2026-01-31 12:00:00";
}

std::string found_of(std::string_view cell) {
  switch (form_of(cell)) {
  case cell_form::missing:
    return "nothing";
  case cell_form::whole:
    return "a whole number";
  case cell_form::long_whole:
    return "a whole number that float64 would round";
  case cell_form::number:
    return "a number that is written otherwise";
  case cell_form::zeros:
    return "a number with zeros in front";
  case cell_form::beyond:
    return "a number with more digits than a number has";
  case cell_form::word:
    break;
  }
  return text_unquoted(cell);
}

} // namespace

std::string text_unquoted(std::string_view text) {
  const size_t count = count_characters(text);
  return "text of " + std::to_string(count) +
         (count == 1 ? " character" : " characters");
}

stated_types types_stated(const source_spec& spec) {
  stated_types out;
  for (const auto& [name, word] : spec.columns) {
    const auto type = parse_word<column_type>(word);
    BALLAST_CHECK(type.has_value(), "a type that the job was checked for");
    out.emplace(name, *type);
  }
  return out;
}

const std::shared_ptr<arrow::DataType>& arrow_type(column_type what) {
  static const std::shared_ptr<arrow::DataType> time =
      arrow::timestamp(arrow::TimeUnit::MICRO);
  switch (what) {
  case column_type::text:
    return arrow::utf8();
  case column_type::int64:
    return arrow::int64();
  case column_type::float64:
    return arrow::float64();
  case column_type::boolean:
    return arrow::boolean();
  case column_type::date:
    return arrow::date32();
  case column_type::timestamp:
    break;
  }
  return time;
}

std::optional<column_type> column_type_of(const arrow::DataType& type) {
  for (size_t i = 0; i < ballast::words_of<column_type>.size(); ++i)
    if (arrow_type(column_type(i))->Equals(type))
      return column_type(i);
  return std::nullopt;
}

cell_form form_of(std::string_view cell) {
  if (cell.empty())
    return cell_form::missing;
  double number = 0;
  if (parse_number(cell, number) != parsed::number)
    return cell_form::word;
  const std::string_view digits = without_sign(cell);
  if (digits.size() > 1 && digits[0] == '0' && is_digit(digits[1]))
    return cell_form::zeros;
  if (!all_digits(digits)) // an infinite one is written so, or too large
    return std::isinf(number) && is_digit(digits[0]) ? cell_form::beyond
                                                     : cell_form::number;
  int64_t whole = 0;
  if (!read_whole(cell, whole))
    return is_exact(digits, number) ? cell_form::number : cell_form::beyond;
  if (!is_exact(whole))
    return cell.starts_with('+') ? cell_form::beyond : cell_form::long_whole;
  return cell.starts_with('+') || cell == "-0" ? cell_form::number
                                               : cell_form::whole;
}

bool is_kept(column_type type, std::string_view cell) {
  if (type != column_type::int64 && type != column_type::float64)
    return true;
  const cell_form form = form_of(cell);
  return form == cell_form::missing || form == cell_form::whole ||
         form == (type == column_type::int64 ? cell_form::long_whole
                                             : cell_form::number);
}

bool read_whole_cell(const cell_type& type, std::string_view cell,
                     int64_t& out) {
  return (!type.exact || is_kept(type.is, cell)) && read_whole(cell, out);
}

bool common_cell_type::silent() const {
  return std::none_of(std::begin(seen_) + 1, std::end(seen_),
                      [](bool one) { return one; });
}

column_type common_cell_type::type() const {
  if (silent())
    return column_type::float64;
  if (saw(cell_form::zeros) || saw(cell_form::beyond) || saw(cell_form::word) ||
      (saw(cell_form::number) && saw(cell_form::long_whole)))
    return column_type::text;
  return saw(cell_form::number) ? column_type::float64 : column_type::int64;
}

std::shared_ptr<arrow::Array>
array_of_cells(const cell_type& type,
               const std::vector<std::string_view>& cells, size_t& bad) {
  switch (type.is) {
  case column_type::text:
    return texts_of(cells, bad);
  case column_type::int64:
    return built(arrow::Int64Builder(), cells, bad, int64_t{0},
                 [&type](std::string_view cell, int64_t& out) {
                   return read_whole_cell(type, cell, out);
                 });
  case column_type::float64:
    return built(arrow::DoubleBuilder(), cells, bad, 0.0,
                 [&type](std::string_view cell, double& out) {
                   return (!type.exact || is_kept(type.is, cell)) &&
                          parse_number(cell, out) == parsed::number;
                 });
  case column_type::boolean:
    return built(arrow::BooleanBuilder(), cells, bad, false, read_bool);
  case column_type::date:
    return built(arrow::Date32Builder(), cells, bad, int32_t{0},
                 [](std::string_view cell, int32_t& out) {
                   literal_date date;
                   const bool good = read_date(cell, date);
                   out = date.days;
                   return good;
                 });
  case column_type::timestamp:
    break;
  }
  return built(arrow::TimestampBuilder(arrow_type(type.is),
                                       arrow::default_memory_pool()),
               cells, bad, int64_t{0}, [](std::string_view cell, int64_t& out) {
                 literal_time time;
                 const bool good = read_time(cell, time);
                 out = time.microseconds;
                 return good;
               });
}

std::shared_ptr<arrow::Array>
array_of_cells(const cell_type& type, std::vector<std::string_view> cells,
               const std::function<void(size_t bad)>& tell) {
  size_t bad = 0;
  if (auto out = array_of_cells(type, cells, bad))
    return out;
  size_t ignored = 0;
  for (size_t i = bad; i < cells.size(); ++i)
    if (!array_of_cells(type, {cells[i]}, ignored)) {
      tell(i);
      cells[i] = {};
    }
  return array_of_cells(type, cells, bad);
}

bool is_of_type(column_type type, std::string_view cell, double& number) {
  switch (type) {
  case column_type::text:
    return true;
  case column_type::int64: {
    int64_t whole = 0;
    const bool good = read_whole(cell, whole);
    number = double(whole);
    return good;
  }
  case column_type::float64:
    return parse_number(cell, number) == parsed::number;
  case column_type::boolean: {
    bool truth = false;
    const bool good = read_bool(cell, truth);
    number = truth ? 1 : 0;
    return good;
  }
  case column_type::date: {
    literal_date date;
    return read_date(cell, date);
  }
  case column_type::timestamp:
    break;
  }
  literal_time time;
  return read_time(cell, time);
}

std::string put_columns(const stated_types& types, const std::string& pointer) {
  nlohmann::json all = nlohmann::json::object();
  for (const auto& [name, type] : types)
    all[name] = to_string(type);
  return "put \"columns\": " + json_text(all) + " into " + pointer;
}

std::string misfit_text(const cell_type& type, std::string_view cell,
                        const std::string& column, const std::string& pointer) {
  if (type.is == column_type::text)
    return "is no valid UTF-8; convert the file to UTF-8";
  const std::string out = "expected " + expected_of(type.is) +
                          (type.exact ? " as in the first rows" : "") +
                          ", found " + found_of(cell);
  if (!type.exact)
    return out + "; correct the cell, or the type in " + pointer + "/columns";
  const cell_form form = form_of(cell);
  const bool float_does =
      type.is == column_type::int64 && form == cell_form::number;
  const std::string put = put_columns(
      {{column, float_does ? column_type::float64 : column_type::text}},
      pointer);
  if (float_does)
    return out + "; " + put + " (or \"text\", to keep it as it is written)";
  if (form == cell_form::word)
    return out + "; " + put +
           ", or name it in null_values if it means that the value is missing";
  return out + "; " + put + " (or \"float64\", if it is a number to you)";
}

void check_stated(const stated_types& types,
                  const std::vector<std::string>& columns,
                  const std::string& file, const std::string& pointer) {
  for (const auto& [name, type] : types) {
    if (std::find(columns.begin(), columns.end(), name) != columns.end())
      continue;
    const std::string near = nearest_word(name, columns);
    throw source_error(
        pointer + "/columns: " + printable(file) + " has no column '" +
            printable(name) + "'" +
            (near.empty() ? "" : "; did you mean '" + printable(near) + "'?"),
        pointer + "/columns",
        near.empty() ? "its columns are " + list_of(columns) : "");
  }
}

} // namespace ballast::data
