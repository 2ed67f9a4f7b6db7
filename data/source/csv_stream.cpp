#include "data/source/csv_stream.hpp"

#include "data/base/arrow_support.hpp"
#include "data/source/cell_number.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace ballast::data {

namespace {

constexpr size_t rows_of_batch = 8192;
/// For the first cell of a column that is not missing.
constexpr size_t rows_looked_ahead = 1000;
/// Of wide rows fewer.
constexpr size_t cells_of_batch = size_t{1} << 22;

/// "1,5", as a spreadsheet of many countries writes it.
std::string decimal_comma_hint(std::string_view cell) {
  std::string with_point(cell);
  std::replace(with_point.begin(), with_point.end(), ',', '.');
  double ignored = 0;
  return parse_number(with_point, ignored) == parsed::number
             ? "; numbers have a decimal point here: write 1.5 for 1,5"
             : "";
}

std::string row_text(uint64_t row, uint64_t line) {
  return "row " + std::to_string(row) + " (line " + std::to_string(line) + ")";
}

std::string detail_of(std::string_view cell) {
  constexpr size_t shown_max = 40;
  return "'" + printable(cell, shown_max) + "' is no number";
}

} // namespace

csv_stream::csv_stream(std::string name, std::string text, terms how)
    : path_(std::move(name)), how_(std::move(how)), text_(std::move(text)),
      records_(text_) {
  read_header();
}

void csv_stream::refuse(const std::string& why) const {
  throw ballast_error(errc::invalid_data, why, how_.pointer);
}

std::string csv_stream::here() const {
  return printable(path_) + ": " + row_text(row_, records_.line());
}

std::string csv_stream::place_of(int64_t row) const {
  const place& at = places_.at(size_t(row));
  return printable(path_) + ": " + row_text(at.row, at.line);
}

/// Also reads the first row, which tells columns of numbers from text.
void csv_stream::read_header() {
  if (!records_.next(fields_))
    refuse(printable(path_) +
           ": is empty; expected a line with the column names");
  for (std::string_view name : fields_)
    columns_.push_back({std::string(trimmed(name)), false});
  has_row_ = next_row();
  if (!has_row_)
    refuse(printable(path_) +
           ": has no rows after its header; the data set is empty");
  find_numeric();
  for (size_t i = 0; i < columns_.size(); ++i)
    chosen_.push_back(int(i));
  cells_.resize(chosen_.size());
}

std::string_view csv_stream::value_of(std::string_view cell) const {
  const std::string_view out = trimmed(cell);
  return std::find(how_.null_values.begin(), how_.null_values.end(), out) ==
                 how_.null_values.end()
             ? out
             : std::string_view();
}

/// By the first cell of each that says something.
void csv_stream::find_numeric() {
  if (how_.all_text)
    return;
  std::vector<size_t> silent; // columns, so far
  for (size_t i = 0; i < columns_.size(); ++i)
    silent.push_back(i);
  const auto tells = [this](size_t column, std::string_view cell) {
    double ignored = 0;
    const parsed found = parse_number(value_of(cell), ignored);
    columns_[column].numeric = found != parsed::text;
    return found != parsed::empty;
  };
  std::erase_if(silent, [&](size_t i) { return tells(i, fields_[i]); });
  csv_records ahead(text_);
  std::vector<std::string_view> row;
  for (size_t i = 0;
       i < rows_looked_ahead && !silent.empty() && ahead.next(row); ++i)
    if (i > 0) // behind the header
      std::erase_if(silent, [&](size_t column) {
        return column < row.size() && tells(column, row[column]);
      });
}

bool csv_stream::next_row() {
  if (!records_.next(fields_))
    return false;
  ++row_;
  if (records_.broken())
    refuse(here() + ": a quote is opened and never closed");
  if (fields_.size() != columns_.size())
    refuse(here() + " has " + std::to_string(fields_.size()) +
           " columns, the header has " + std::to_string(columns_.size()));
  return true;
}

std::shared_ptr<arrow::Schema> csv_stream::schema() {
  arrow::FieldVector fields;
  for (const column& one : columns_)
    fields.push_back(
        arrow::field(one.name, one.numeric ? arrow::float64() : arrow::utf8()));
  return arrow::schema(std::move(fields));
}

bool csv_stream::read_as(int column, column_content what) {
  columns_.at(size_t(column)).numeric = what == column_content::numbers;
  return true;
}

// -- columns that are left out ------------------------------------------------

void csv_stream::leave_out(const std::vector<int>& columns, bool all) {
  if (how_.texts == nullptr)
    return;
  for (int i : columns)
    how_.texts->try_emplace(columns_[size_t(i)].name,
                            text_cell{std::string(fields_[size_t(i)]), path_,
                                      row_text(row_, records_.line())});
  for (size_t i = 0; i < columns_.size(); ++i)
    if (const auto found = how_.texts->find(columns_[i].name);
        found != how_.texts->end())
      watched_.emplace_back(i, &found->second);
  // There is nothing to train on unless one of them is numeric after all.
  while (all && next_row())
    check_texts();
}

void csv_stream::check_texts() const {
  for (const auto& [column, first] : watched_)
    if (double found = 0;
        parse_number(value_of(fields_[column]), found) == parsed::number &&
        std::isfinite(found)) // some files write "nan" for missing text
      refuse_text(column, *first);
}

std::string csv_stream::at(const std::string& where, size_t column) const {
  return where + ", column '" + printable(columns_[column].name) + "': ";
}

std::string csv_stream::not_a_number(const std::string& where, size_t column,
                                     const std::string& expected,
                                     std::string_view cell) const {
  return at(where, column) + expected + ", found text of " +
         std::to_string(count_characters(cell)) + " characters";
}

void csv_stream::refuse_text(size_t column, const text_cell& first) const {
  throw source_error(
      not_a_number(
          printable(first.file) + ": " + first.row, column,
          "expected a number as in " +
              (first.file == path_ ? row_text(row_, records_.line()) : here()),
          first.text) +
          "; correct the cell, or name the columns to train on in " +
          how_.pointer + "/features",
      how_.pointer, detail_of(first.text));
}

// -- rows ---------------------------------------------------------------------

void csv_stream::choose(std::vector<int> columns) {
  chosen_ = std::move(columns);
  cells_.resize(chosen_.size());
}

std::shared_ptr<arrow::RecordBatch> csv_stream::next() {
  check_stop(how_.stop);
  for (std::vector<std::string_view>& one : cells_)
    one.clear();
  places_.clear();
  unescaped_.clear();
  const size_t most = std::clamp<size_t>(
      cells_of_batch / std::max<size_t>(1, chosen_.size()), 1, rows_of_batch);
  while (places_.size() < most) {
    if (!has_row_ && !next_row())
      break;
    has_row_ = false;
    check_texts();
    for (size_t i = 0; i < chosen_.size(); ++i) {
      std::string_view cell = fields_[size_t(chosen_[i])];
      // Of a cell with doubled quotes only the record has the text.
      if (cell.data() < text_.data() ||
          cell.data() > text_.data() + text_.size())
        cell = unescaped_.emplace_back(cell);
      cells_[i].push_back(cell);
    }
    places_.push_back({row_, records_.line()});
  }
  if (places_.empty())
    return nullptr;
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (size_t i = 0; i < chosen_.size(); ++i) {
    const column& one = columns_[size_t(chosen_[i])];
    fields.push_back(
        arrow::field(one.name, one.numeric ? arrow::float64() : arrow::utf8()));
    arrays.push_back(one.numeric ? numbers(i) : words(i));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)),
                                  int64_t(places_.size()), std::move(arrays));
}

std::shared_ptr<arrow::Array> csv_stream::numbers(size_t chosen) const {
  arrow::DoubleBuilder out;
  const std::vector<std::string_view>& cells = cells_[chosen];
  check_arrow(out.Reserve(int64_t(cells.size())), errc::device_failed, path_);
  for (size_t row = 0; row < cells.size(); ++row) {
    double number = 0;
    switch (parse_number(value_of(cells[row]), number)) {
    case parsed::number:
      out.UnsafeAppend(number);
      break;
    case parsed::empty:
      out.UnsafeAppendNull();
      break;
    case parsed::text:
      throw source_error(not_a_number(place_of(int64_t(row)),
                                      size_t(chosen_[chosen]),
                                      "expected a number", cells[row]) +
                             decimal_comma_hint(cells[row]),
                         how_.pointer, detail_of(cells[row]));
    }
  }
  return take_arrow(out.Finish(), errc::device_failed, path_);
}

std::shared_ptr<arrow::Array> csv_stream::words(size_t chosen) const {
  arrow::StringBuilder out;
  for (std::string_view cell : cells_[chosen]) {
    const std::string_view word = value_of(cell);
    check_arrow(word.empty() ? out.AppendNull() : out.Append(word),
                errc::device_failed, path_);
  }
  return take_arrow(out.Finish(), errc::device_failed, path_);
}

std::optional<std::string_view> csv_stream::text_of(int chosen,
                                                    int64_t row) const {
  return value_of(cells_[size_t(chosen)][size_t(row)]);
}

} // namespace ballast::data
