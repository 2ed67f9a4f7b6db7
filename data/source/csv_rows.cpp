#include "data/source/csv_rows.hpp"

#include "data/base/arrow_support.hpp"
#include "data/source/bad_rows.hpp"
#include "data/source/cell_number.hpp"
#include "data/source/csv_quick.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/counted.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <exception>
#include <optional>

namespace ballast::data {

namespace {

/// "1,5", as a spreadsheet of many countries writes it.
std::string decimal_comma_hint(std::string_view cell) {
  std::string with_point(cell);
  std::replace(with_point.begin(), with_point.end(), ',', '.');
  double ignored = 0;
  return parse_number(with_point, ignored) == parsed::number
             ? "; numbers have a decimal point here: write 1.5 for 1,5"
             : "";
}

std::string detail_of(std::string_view cell) {
  constexpr size_t shown_max = 40;
  return "'" + printable(cell, shown_max) + "' is no number";
}

std::string not_a_number(const std::string& expected, std::string_view cell) {
  return expected + ", found " + text_unquoted(cell);
}

/// The cells of a block, by chosen column, and where its rows stand.
struct careful_cells {
  std::vector<std::vector<std::string_view>> of;
  std::vector<std::vector<bool>> quoted;
  std::vector<csv_place> places;
  std::deque<std::string> unescaped; // that cells point to
  std::vector<bad_row> bad;          // rows, then cells by column
  /// Of those the first in the order of rows, and what is quoted of it.
  size_t first_bad = SIZE_MAX;
  std::string detail;

  /// The cell of this row is not what its column is.
  void refuse(const csv_format& how, size_t row, size_t column,
              const std::string& why, const std::string& quoted) {
    if (row < first_bad) {
      first_bad = row;
      detail = quoted;
    }
    bad.push_back({int64_t(row), how.columns[column].name, why, {}});
  }
  [[noreturn]] void refuse_first(const csv_format& how) {
    put_in_order(bad);
    const csv_place& at = places[first_bad];
    throw row_error(printable(how.path) + ": " + row_text(at.rows, at.lines),
                    bad[0].column, bad[0].reason, how.pointer, detail);
  }
};

std::shared_ptr<arrow::Array> numbers(const csv_format& how, careful_cells& all,
                                      size_t chosen) {
  arrow::DoubleBuilder out;
  const std::vector<std::string_view>& cells = all.of[chosen];
  check_arrow(out.Reserve(int64_t(cells.size())), errc::device_failed,
              how.path);
  for (size_t row = 0; row < cells.size(); ++row) {
    double number = 0;
    switch (parse_number(how.value_of(cells[row]), number)) {
    case parsed::number:
      out.UnsafeAppend(number);
      break;
    case parsed::empty:
      out.UnsafeAppendNull();
      break;
    case parsed::text:
      all.refuse(how, row, size_t(how.chosen[chosen]),
                 not_a_number("expected a number", cells[row]) +
                     decimal_comma_hint(cells[row]),
                 detail_of(cells[row]));
      out.UnsafeAppendNull();
    }
  }
  return take_arrow(out.Finish(), errc::device_failed, how.path);
}

/// Of any other type.
std::shared_ptr<arrow::Array> typed(const csv_format& how, careful_cells& all,
                                    size_t chosen) {
  const csv_format::column& column = how.columns[size_t(how.chosen[chosen])];
  std::vector<std::string_view> cells;
  for (size_t row = 0; row < all.of[chosen].size(); ++row) {
    const std::string_view cell = all.of[chosen][row];
    cells.push_back(all.quoted[chosen][row]
                        ? how.quoted_value_of(cell, column.type.is)
                        : how.value_of(cell));
  }
  constexpr size_t shown_max = 40;
  return array_of_cells(column.type, cells, [&](size_t row) {
    all.refuse(how, row, size_t(how.chosen[chosen]),
               misfit_text(column.type, cells[row], column.name, how.pointer),
               "it is '" + printable(cells[row], shown_max) + "'");
  });
}

} // namespace

std::string row_text(uint64_t row, uint64_t line) {
  return "row " + std::to_string(row) + " (line " + std::to_string(line) + ")";
}

std::string_view csv_format::value_of(std::string_view cell) const {
  const std::string_view out = trimmed(cell);
  return std::find(null_values.begin(), null_values.end(), out) ==
                 null_values.end()
             ? out
             : std::string_view();
}

std::string_view csv_format::quoted_value_of(std::string_view cell,
                                             column_type is) const {
  const std::string_view out = value_of(cell);
  return is == column_type::text && (!out.empty() || trimmed(cell).empty())
             ? cell
             : out;
}

std::shared_ptr<arrow::Field> csv_format::field(int column) const {
  const struct column& one = columns[size_t(column)];
  return arrow::field(one.name, arrow_type(one.type.is));
}

// -- record by record ---------------------------------------------------------

void csv_cursor::refuse(const std::string& why) const {
  throw ballast_error(errc::invalid_data, why, how_.pointer);
}

std::string csv_cursor::here() const {
  return printable(how_.path) + ": " + row_text(row_, line());
}

bool csv_cursor::next() {
  if (!records_.next(fields_))
    return false;
  ++row_;
  fault_.clear();
  if (records_.broken())
    fault_ = "a quote is opened and never closed";
  else if (records_.goes_on())
    fault_ = "a cell goes on behind its closing quote; double the quotes that "
             "belong to it, or put the closing one at its end";
  else if (fields_.size() != how_.columns.size())
    fault_ = "has " + counted(fields_.size(), "column") + ", the header has " +
             std::to_string(how_.columns.size());
  if (fault_.empty())
    return true;
  if (!how_.tolerant)
    refuse(here() + (fault_.starts_with("has ") ? " " : ": ") + fault_);
  records_.take_line();
  fields_.assign(how_.columns.size(), {});
  return true;
}

void csv_cursor::check_texts() const {
  for (const auto& [column, first] : how_.watched)
    if (double found = 0;
        parse_number(how_.value_of(fields_[column]), found) == parsed::number &&
        std::isfinite(found)) // some files write "nan" for missing text
      refuse_text(column, *first);
}

void csv_cursor::refuse_text(size_t column, const text_cell& first) const {
  throw row_error(
      printable(first.file) + ": " + first.row, how_.columns[column].name,
      not_a_number("expected a number as in " + (first.file == how_.path
                                                     ? row_text(row_, line())
                                                     : here()),
                   first.text) +
          "; correct the cell, or name the columns to train on in " +
          how_.pointer + "/features",
      how_.pointer, detail_of(first.text));
}

// -- block by block -----------------------------------------------------------

namespace {

/// Up to the first that is no row, unless the format goes on behind it.
void collect(csv_cursor& rows, const csv_format& how, careful_cells& out) {
  while (rows.next()) {
    rows.check_texts();
    if (!rows.fault().empty())
      out.bad.push_back({int64_t(out.places.size()),
                         {},
                         rows.fault(),
                         std::string(rows.text())});
    for (size_t i = 0; i < how.chosen.size(); ++i) {
      std::string_view cell = rows.fields()[size_t(how.chosen[i])];
      out.quoted[i].push_back(rows.is_quoted(cell));
      if (rows.is_copy(cell))
        cell = out.unescaped.emplace_back(cell);
      out.of[i].push_back(cell);
    }
    out.places.push_back({rows.row(), rows.line()});
  }
}

} // namespace

std::shared_ptr<arrow::RecordBatch> parse_carefully(const csv_format& how,
                                                    std::string_view text,
                                                    csv_place before,
                                                    std::vector<bad_row>* bad) {
  careful_cells all;
  all.of.resize(how.chosen.size());
  all.quoted.resize(how.chosen.size());
  csv_cursor rows(how, text, before);
  std::exception_ptr ended; // by what is wrong behind all rows so far
  try {
    collect(rows, how, all);
  } catch (const ballast_error&) {
    ended = std::current_exception();
  }
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (size_t i = 0; i < how.chosen.size(); ++i) {
    fields.push_back(how.field(how.chosen[i]));
    const cell_type& type = how.columns[size_t(how.chosen[i])].type;
    arrays.push_back(type.is == column_type::float64 && !type.exact
                         ? numbers(how, all, i)
                         : typed(how, all, i));
  }
  if (bad == nullptr && all.first_bad != SIZE_MAX)
    all.refuse_first(how);
  if (ended)
    std::rethrow_exception(ended);
  if (all.places.empty())
    return nullptr;
  if (bad != nullptr) {
    put_in_order(all.bad);
    *bad = std::move(all.bad);
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)),
                                  int64_t(all.places.size()),
                                  std::move(arrays));
}

namespace {

/// Of a block with some bad rows the others are still read quickly.
std::shared_ptr<arrow::RecordBatch>
parse_around_bad_rows(const csv_format& how, std::string_view text,
                      uint64_t lines, std::vector<bad_row>& bad) {
  constexpr int bad_rows_max = 64; // then little is left to be quick with
  arrow::RecordBatchVector parts;
  int64_t rows = 0;
  const auto take = [&](const std::shared_ptr<arrow::RecordBatch>& part) {
    if (part == nullptr)
      return;
    parts.push_back(part);
    rows += part->num_rows();
  };
  size_t at = 0;
  for (int i = 0; at < text.size(); ++i) {
    size_t stop = 0;
    std::optional<std::shared_ptr<arrow::RecordBatch>> quick;
    if (i < bad_rows_max)
      quick = parse_quickly(how, text.substr(at), lines + 1, stop);
    size_t end = text.size();
    if (quick) {
      take(*quick);
      at += stop;
      end = std::min(text.find('\n', at), end - 1) + 1;
    }
    if (at == text.size())
      break;
    std::vector<bad_row> found;
    const int64_t before = rows;
    take(parse_carefully(how, text.substr(at, end - at), {}, &found));
    for (bad_row& one : found) {
      one.row += before;
      bad.push_back(std::move(one));
    }
    at = end;
  }
  if (parts.size() < 2)
    return parts.empty() ? nullptr : parts[0];
  return take_arrow(arrow::ConcatenateRecordBatches(parts), errc::device_failed,
                    how.path);
}

} // namespace

csv_rows parse_block(const csv_format& how, csv_block block) {
  csv_rows out;
  const std::string_view text = block.text();
  out.lines = uint64_t(std::count(text.begin(), text.end(), '\n'));
  if (auto quick = parse_quickly(how, text, out.lines + 1)) {
    out.batch = std::move(*quick);
  } else {
    try {
      out.batch = how.tolerant ? parse_around_bad_rows(how, text, out.lines,
                                                       out.bad_rows)
                               : parse_carefully(how, text, {});
    } catch (const ballast_error& error) {
      if (error.what_failed().code != errc::invalid_data)
        throw;
      out.bad = true; // and where only the reader of all blocks knows
    }
  }
  out.rows = out.batch ? uint64_t(out.batch->num_rows()) : 0;
  out.from = std::move(block);
  return out;
}

} // namespace ballast::data
