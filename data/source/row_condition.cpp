#include "data/source/row_condition.hpp"

#include "data/source/source_error.hpp"

#include <arrow/type.h>

#include <utility>

namespace ballast::data {

namespace {

/// The message of a mistake begins with the field that holds it.
template <class Work>
auto naming(const std::string& pointer, Work work) {
  try {
    return work();
  } catch (const source_error& e) {
    throw source_error(pointer + ": " + e.what_failed().message, pointer,
                       e.detail());
  } catch (const ballast_error& e) {
    throw ballast_error(e.what_failed().code, pointer + ": " + e.what(),
                        pointer);
  }
}

} // namespace

row_condition::row_condition(const std::string& text, std::string pointer)
    : pointer_(std::move(pointer)),
      what_(naming(pointer_, [&] { return parse(text, pointer_); })) {}

std::vector<int>
row_condition::columns(const std::shared_ptr<arrow::Schema>& of) const {
  (void)naming(pointer_, [&] { return what_.bind_condition(of); });
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
  return naming(pointer_, [&] {
    return what_.bind_condition(arrow::schema(std::move(fields)));
  });
}

} // namespace ballast::data
