#include "data/source/row_condition.hpp"

#include "data/source/record_stream.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/type.h>
#include <arrow/type_traits.h>

#include <algorithm>
#include <utility>

namespace ballast::data {

namespace {

/// Of columns of which no cell says anything: as many as are tried both ways.
constexpr size_t silent_max = 8;

column_type type_of(const arrow::Field& field) {
  return arrow::is_string(field.type()->id()) ? column_type::text
                                              : column_type::float64;
}

char letter_of(column_type what) {
  return what == column_type::text ? 't' : 'n';
}

} // namespace

row_condition::row_condition(const std::string& text, std::string pointer)
    : pointer_(std::move(pointer)),
      what_(at_field(pointer_, [&] { return parse(text, pointer_); })) {}

template <class Work>
auto row_condition::of_file(const std::string& file, Work work) const {
  const std::string place =
      pointer_ + (file.empty() ? ": " : " (" + printable(file) + "): ");
  try {
    return work();
  } catch (const source_error& e) {
    throw source_error(place + e.what_failed().message, pointer_, e.detail());
  } catch (const ballast_error& e) {
    throw ballast_error(e.what_failed().code, place + e.what(), pointer_);
  }
}

std::vector<int>
row_condition::columns(const std::shared_ptr<arrow::Schema>& of,
                       const std::string& file) const {
  (void)of_file(file, [&] { return what_.bind_condition(of); });
  std::vector<int> out;
  for (const std::string& name : what_.columns())
    out.push_back(of->GetFieldIndex(name));
  return out;
}

bound_expression row_condition::bind(const arrow::Schema& of,
                                     const std::vector<int>& columns,
                                     const std::string& file) const {
  arrow::FieldVector fields;
  for (int column : columns)
    fields.push_back(of.field(column));
  return of_file(file, [&] {
    return what_.bind_condition(arrow::schema(std::move(fields)));
  });
}

bool row_condition::fits(record_stream& file) const {
  try {
    (void)what_.bind_condition(file.schema());
    return true;
  } catch (const ballast_error&) {
    return false;
  }
}

void row_condition::read_alike(record_stream& file,
                               const std::vector<size_t>& fixed) {
  std::vector<int> silent;
  const std::shared_ptr<arrow::Schema> schema = file.schema();
  for (const std::string& name : what_.columns()) {
    const int column = schema->GetFieldIndex(name);
    if (column < 0)
      continue; // which columns() refuses
    const bool is_fixed = std::ranges::count(fixed, size_t(column)) > 0;
    const column_type own = type_of(*schema->field(column));
    if (const auto known = types_.find(name);
        known != types_.end() && !is_fixed)
      file.read_as(column, known->second);
    else if (file.is_silent(column) && !is_fixed)
      silent.push_back(column);
    else if (file.read_as(column, own))
      types_.emplace(name, own);
  }
  silent.resize(std::min(silent.size(), silent_max));
  for (size_t way = 0; way < size_t{1} << silent.size(); ++way) {
    for (size_t i = 0; i < silent.size(); ++i)
      file.read_as(silent[i], (way >> i & 1) != 0 ? column_type::text
                                                  : column_type::float64);
    if (fits(file))
      return;
  }
  for (int column : silent)
    file.read_as(column, column_type::float64);
}

std::string row_condition::types_of(record_stream& file) const {
  std::string out;
  const std::shared_ptr<arrow::Schema> schema = file.schema();
  for (const std::string& name : what_.columns())
    if (const int column = schema->GetFieldIndex(name); column >= 0)
      if (const auto own = type_of(*schema->field(column));
          file.read_as(column, own))
        out += letter_of(own);
  return out;
}

bool row_condition::is_read_alike(const std::string& types) const {
  std::string known;
  for (const std::string& name : what_.columns())
    if (const auto found = types_.find(name); found != types_.end())
      known += letter_of(found->second);
  return types == known;
}

} // namespace ballast::data
