#include "data/source/json_advice.hpp"

#include "data/source/cell_type.hpp"
#include "data/source/json_keys.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <utility>

namespace ballast::data {

std::string json_advice::first_rows() const {
  return told_by == 1 ? "the first row"
                      : "the first " + std::to_string(told_by) + " rows";
}

std::string json_advice::those_who_tell() const {
  return given          ? "the first file does"
         : told_by == 1 ? "the first row, which tells the columns, does"
                        : first_rows() + ", which tell the columns, do";
}

json_complaint json_advice::of(std::string_view line,
                               const std::shared_ptr<arrow::Schema>& schema,
                               const std::string& words) const {
  if (schema == nullptr ||
      parse_json(line, nullptr, other_keys::are_columns).status().IsInvalid())
    return of_words(words);
  for (const std::shared_ptr<arrow::Field>& field : schema->fields())
    if (!parse_json(line, arrow::schema({field}), other_keys::are_skipped).ok())
      return {field->name(),
              "expected " + field->type()->ToString() +
                  (field->nullable() ? "" : ", which may not be missing") +
                  remedy(*field, line)};
  return of_new_key(line, *schema);
}

std::string json_advice::remedy(const arrow::Field& field,
                                std::string_view line) const {
  const auto found = type_in(line, field.name());
  const auto was = column_type_of(*field.type());
  return (given ? "" : ", as in " + first_rows()) +
         std::string("; correct the row") +
         (!found || found == was
              ? ""
              : ", or " + put_columns({{field.name(),
                                        was ? type_for(*was, *found) : *found}},
                                      pointer));
}

json_complaint json_advice::of_new_key(std::string_view line,
                                       const arrow::Schema& schema) const {
  const auto alone = parse_json(line, nullptr, other_keys::are_columns);
  const std::string rest = "is new here, " + first_rows() +
                           (told_by == 1 ? " does" : " do") +
                           " not have it; choose the columns to read, "
                           "or state their types";
  if (alone.ok())
    for (const std::shared_ptr<arrow::Field>& field :
         (*alone)->schema()->fields())
      if (schema.GetFieldIndex(field->name()) < 0)
        return {{}, "the column '" + printable(field->name()) + "' " + rest};
  return {{}, "a key of a nested object " + rest};
}

/// Between rows of the first block, or within one that is no JSON.
json_complaint json_advice::of_words(const std::string& words) const {
  json_complaint said = complaint_of(words);
  if (said.column.empty())
    return {{}, "is no valid JSON: " + said.what};
  said.what.erase(0, said.what.find_first_not_of(' '));
  if (said.what.find("changed") != std::string::npos)
    said.what += "; correct the row, or " +
                 put_columns({{said.column.substr(0, said.column.find('/')),
                               column_type::text}},
                             pointer);
  return said;
}

} // namespace ballast::data
