#include "data/source/row_condition.hpp"

#include "data/source/source_error.hpp"

#include <arrow/type.h>

#include <utility>

namespace ballast::data {

row_condition::row_condition(const std::string& text, std::string pointer)
    : pointer_(std::move(pointer)),
      what_(at_field(pointer_, [&] { return parse(text, pointer_); })) {}

std::vector<int>
row_condition::columns(const std::shared_ptr<arrow::Schema>& of) const {
  (void)at_field(pointer_, [&] { return what_.bind_condition(of); });
  std::vector<int> out;
  for (const std::string& name : what_.columns())
    out.push_back(of->GetFieldIndex(name));
  return out;
}

bound_expression row_condition::bind(const arrow::Schema& of,
                                     const std::vector<int>& columns) const {
  arrow::FieldVector fields;
  for (int column : columns)
    fields.push_back(of.field(column));
  return at_field(pointer_, [&] {
    return what_.bind_condition(arrow::schema(std::move(fields)));
  });
}

} // namespace ballast::data
