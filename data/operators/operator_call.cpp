#include "data/operators/operator_call.hpp"

#include "data/base/arrow_support.hpp"
#include "data/operators/crash_note.hpp"
#include "data/operators/foreign_buffers.hpp"
#include "data/operators/row_batches.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <arrow/c/bridge.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <filesystem>
#include <numeric>
#include <set>
#include <utility>

namespace ballast::data {

namespace {

constexpr int64_t made_rows_max = 1 << 24;
constexpr int64_t made_bytes_max = int64_t{1} << 30;
constexpr int64_t items_max = int64_t{1} << 31;
constexpr int made_columns_max = 65536;
constexpr int nested_max = 16;

/// What crosses the border: whoever has it releases it.
template <class Node>
struct crossing : Node {
  crossing() : Node{} {}
  crossing(const crossing&) = delete;
  ~crossing() {
    if (this->release != nullptr)
      this->release(this);
  }
};

/// Of what a library may have written anywhere.
template <size_t Bytes>
std::string text_in(const char (&text)[Bytes]) {
  return {text, strnlen(text, Bytes)};
}

/// Whether Arrow can look at it at all.
bool is_whole(const ArrowArray& one, int depth = 0) {
  const bool bounded =
      one.length >= 0 && one.length <= items_max && one.offset >= 0 &&
      one.offset <= items_max && one.n_buffers >= 0 && one.n_buffers <= 3 &&
      one.n_children >= 0 && one.n_children <= made_columns_max &&
      one.dictionary == nullptr && depth <= nested_max;
  if (!bounded || one.release == nullptr ||
      (one.n_buffers > 0 && one.buffers == nullptr) ||
      (one.n_children > 0 && one.children == nullptr))
    return false;
  for (int64_t i = 0; i < one.n_children; ++i)
    if (one.children[i] == nullptr || !is_whole(*one.children[i], depth + 1))
      return false;
  return true;
}

/// Of values as the operators of a graph take them.
bool is_plain_type(const arrow::DataType& type, int depth = 0) {
  if (depth > nested_max)
    return false;
  switch (type.id()) {
  case arrow::Type::LIST:
  case arrow::Type::LARGE_LIST:
  case arrow::Type::FIXED_SIZE_LIST:
  case arrow::Type::STRUCT:
    return std::all_of(type.fields().begin(), type.fields().end(),
                       [depth](const auto& one) {
                         return is_plain_type(*one->type(), depth + 1);
                       });
  default:
    return arrow::is_primitive(type.id()) ||
           arrow::is_base_binary_like(type.id()) ||
           arrow::is_fixed_size_binary(type.id());
  }
}

/// The first value that is missing where none may be, by the row of the column;
/// -1: there is none.
int64_t first_missing(const arrow::Field& field, const arrow::Array& column) {
  if (!field.nullable() && column.null_count() > 0)
    for (int64_t i = 0; i < column.length(); ++i)
      if (column.IsNull(i))
        return i;
  if (column.type_id() == arrow::Type::STRUCT)
    for (int i = 0; i < column.type()->num_fields(); ++i) {
      const auto& rows = static_cast<const arrow::StructArray&>(column);
      const int64_t at =
          first_missing(*column.type()->field(i), *rows.field(i));
      if (at >= 0 && rows.IsValid(at))
        return at;
    }
  const auto* lists = dynamic_cast<const arrow::ListArray*>(&column);
  if (lists == nullptr)
    return -1;
  for (int64_t i = 0; i < lists->length(); ++i)
    if (lists->IsValid(i) &&
        first_missing(*column.type()->field(0), *lists->value_slice(i)) >= 0)
      return i;
  return -1;
}

std::string n_rows(int64_t count) {
  return std::to_string(count) + (count == 1 ? " row" : " rows");
}

} // namespace

operator_call::operator_call(const ballast_operator& what,
                             const std::string& library,
                             const std::string& options,
                             std::shared_ptr<arrow::Schema> input,
                             const operator_context& context)
    : what_(what), context_(context),
      who_(printable(context.name) + " (" + printable(what.name, 64) + " of " +
           printable(std::filesystem::path(library).filename().string()) + ")"),
      crashed_(context.pointer + ": " + who_), input_(std::move(input)) {
  open(options);
}

operator_call::~operator_call() {
  close();
}

void operator_call::close() const {
  if (what_.close == nullptr)
    return;
  const crash_note note(crashed_.c_str());
  what_.close(stream_);
}

void operator_call::refuse(const std::string& place, const std::string& why,
                           const std::string& detail) const {
  throw source_error(context_.pointer + ": " + who_ + ": " +
                         (place.empty() ? "" : place + ": ") + why,
                     context_.pointer, printable(detail, 500));
}

void operator_call::refuse_said(const ballast_operator_error& said,
                                int64_t rows, const places& place_of) const {
  std::string place;
  if (said.row >= 0 && said.row < rows)
    place = place_of(said.row);
  if (const std::string column = text_in(said.column); !column.empty())
    place +=
        (place.empty() ? "column '" : ", column '") + printable(column) + "'";
  const std::string text = text_in(said.text);
  refuse(place, place.empty() ? "it failed" : "it refuses this",
         text.empty() ? "without a reason" : text);
}

void operator_call::call(
    const std::function<int32_t(ballast_operator_error*)>& work, int64_t rows,
    const places& place_of) const {
  ballast_operator_error said{};
  said.row = -1;
  std::string thrown;
  int32_t failed = 0;
  try {
    const crash_note note(crashed_.c_str());
    failed = work(&said);
  } catch (const std::exception& e) {
    thrown = e.what();
    failed = -1;
  } catch (...) {
    thrown = "of a type of its own";
    failed = -1;
  }
  if (!thrown.empty())
    refuse("", "it threw an exception", thrown);
  if (failed != 0)
    refuse_said(said, rows, place_of);
}

void operator_call::open(const std::string& options) {
  crossing<ArrowSchema> input;
  crossing<ArrowSchema> output;
  check_arrow(arrow::ExportSchema(*input_, &input), errc::invalid_data, who_);
  call(
      [&](ballast_operator_error* said) {
        return what_.open(options.c_str(), &input, &output, &stream_, said);
      },
      0, nullptr);
  try {
    if (output.release == nullptr)
      refuse("", "its open() names no columns");
    arrow::Result<std::shared_ptr<arrow::Schema>> columns =
        arrow::ImportSchema(&output);
    if (!columns.ok())
      refuse("", "the columns that its open() names are none of Arrow's",
             columns.status().message());
    output_ = std::move(columns).ValueUnsafe();
    check_schema();
  } catch (...) { // it was opened, and there will be no destructor
    close();
    throw;
  }
}

void operator_call::check_schema() {
  if (output_->num_fields() == 0 || output_->num_fields() > made_columns_max)
    refuse("", "it names " + std::to_string(output_->num_fields()) +
                   " columns; expected 1 to " +
                   std::to_string(made_columns_max));
  std::set<std::string> names{origin_column, ""};
  for (const auto& field : output_->fields()) {
    const std::string column = "column '" + printable(field->name(), 256) + "'";
    if (!is_utf8(field->name()) || !names.insert(field->name()).second)
      refuse(column, "expected a name of its own for each column that comes "
                     "out");
    if (!is_plain_type(*field->type()))
      refuse(column, "has the type " +
                         printable(field->type()->ToString(), 200) +
                         "; expected numbers, text, bytes, dates, times, or "
                         "lists and structs of them");
    crashed_in_.push_back(crashed_ + ", column '" +
                          printable(field->name(), 256) + "'");
  }
}

operator_call::made operator_call::apply(const arrow::RecordBatch& rows,
                                         const places& place_of) const {
  crossing<ArrowArray> input;
  crossing<ArrowArray> output;
  crossing<ArrowArray> from;
  check_arrow(arrow::ExportRecordBatch(rows, &input), errc::invalid_data, who_);
  call(
      [&](ballast_operator_error* said) {
        return what_.apply(stream_, &input, &output, &from, said);
      },
      rows.num_rows(), place_of);
  // What it gave is still its own: a pointer to nowhere ends the process here.
  const crash_note note(crashed_.c_str());
  made out;
  out.rows = rows_of(output);
  out.from = origins_of(from, rows.num_rows(), out.rows->num_rows());
  check_nulls(out, place_of);
  return out;
}

std::shared_ptr<arrow::RecordBatch>
operator_call::rows_of(ArrowArray& output) const {
  if (output.release == nullptr)
    refuse("", "its apply() gives no rows; expected a struct, of length 0 "
               "where there are none");
  if (!is_whole(output))
    refuse("", "its apply() gives rows with lengths, offsets or children that "
               "cannot be");
  if (output.length > made_rows_max)
    refuse("", "it gives " + n_rows(output.length) +
                   " at once; expected at "
                   "most " +
                   n_rows(made_rows_max) +
                   ", which fewer rows at once may give (\"rows\")");
  if (output.n_children != output_->num_fields())
    refuse("", "it gives " + std::to_string(output.n_children) +
                   " columns, its open() named " +
                   std::to_string(output_->num_fields()));
  for (int i = 0; i < output_->num_fields(); ++i)
    if (output.children[i]->length != output.length)
      refuse("column '" + printable(output_->field(i)->name(), 256) + "'",
             "it gives " + std::to_string(output.children[i]->length) +
                 " values for " + n_rows(output.length));
  return own_copy(output);
}

/// Checked, in memory of our own: what the library has is given back at once,
/// so that whatever is wrong with it shows here, under its name.
std::shared_ptr<arrow::RecordBatch>
operator_call::own_copy(ArrowArray& output) const {
  const auto checked = [&](auto result) {
    if (!result.ok())
      refuse("", "it gives rows that are not as its open() named them",
             result.status().message());
    return std::move(result).ValueUnsafe();
  };
  const auto each_column = [this](const auto& look) {
    for (int i = 0; i < output_->num_fields(); ++i) {
      const crash_note note(crashed_in_.at(size_t(i)).c_str());
      look(i);
    }
  };
  each_column([&](int i) {
    touch_fixed(*output.children[i], *output_->field(i)->type());
  });
  const std::shared_ptr<arrow::RecordBatch> rows =
      checked(arrow::ImportRecordBatch(&output, output_));
  if (bytes_of(*rows) > made_bytes_max)
    refuse("", "it gives more than 1 GiB at once; say fewer \"rows\"");
  each_column([&](int i) {
    if (const arrow::Status valid = rows->column(i)->ValidateFull();
        !valid.ok())
      refuse("column '" + printable(output_->field(i)->name(), 256) + "'",
             "it gives values that are damaged", valid.message());
    touch_all(*rows->column_data(i));
  });
  return checked(rows->CopyTo(arrow::default_cpu_memory_manager()));
}

std::vector<uint32_t> operator_call::origins_of(ArrowArray& from,
                                                int64_t rows_in,
                                                int64_t rows_out) const {
  std::vector<uint32_t> out(size_t(rows_out), 0);
  if (from.release == nullptr) {
    if (rows_in != rows_out)
      refuse("", "it gives " + n_rows(rows_out) + " for " + n_rows(rows_in) +
                     " and does not say which is made of which; fill `from`");
    std::iota(out.begin(), out.end(), 0U);
    return out;
  }
  if (!is_whole(from) || from.length != rows_out || from.n_buffers != 2)
    refuse("", "its `from` has " + std::to_string(from.length) +
                   " numbers for " + n_rows(rows_out) +
                   "; expected one int64 for each");
  const auto read = arrow::ImportArray(&from, arrow::int64());
  if (!read.ok() || !(*read)->ValidateFull().ok() || (*read)->null_count() > 0)
    refuse("", "its `from` is no column of int64 without nulls");
  const auto& numbers = static_cast<const arrow::Int64Array&>(**read);
  for (int64_t i = 0; i < rows_out; ++i) {
    if (numbers.Value(i) < 0 || numbers.Value(i) >= rows_in)
      refuse("", "its `from` names row " + std::to_string(numbers.Value(i)) +
                     " of " + n_rows(rows_in) + ", counted from 0");
    out[size_t(i)] = uint32_t(numbers.Value(i));
  }
  return out;
}

void operator_call::check_nulls(const made& what,
                                const places& place_of) const {
  for (int i = 0; i < output_->num_fields(); ++i) {
    const arrow::Field& field = *output_->field(i);
    const int64_t row = first_missing(field, *what.rows->column(i));
    if (row >= 0)
      refuse(place_of(what.from[size_t(row)]) + ", column '" +
                 printable(field.name(), 256) + "'",
             "it gives a missing value, its open() said that there are none");
  }
}

} // namespace ballast::data
