#include "data/source/json_keys.hpp"

#include "data/source/array_cells.hpp"
#include "runtime/base/json_text.hpp"

#include <arrow/type.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace ballast::data {

namespace {

using nlohmann::json;

std::string quoted_key(const std::string& name) {
  return json_text(json(name));
}

std::shared_ptr<arrow::Field>
without_time(const std::shared_ptr<arrow::Field>& field) {
  const arrow::DataType& type = *field->type();
  if (type.id() == arrow::Type::TIMESTAMP)
    return field->WithType(arrow::utf8());
  if (type.id() != arrow::Type::STRUCT && type.id() != arrow::Type::LIST)
    return field;
  arrow::FieldVector inner;
  for (const auto& one : type.fields())
    inner.push_back(without_time(one));
  return field->WithType(type.id() == arrow::Type::LIST
                             ? arrow::list(inner.at(0))
                             : arrow::struct_(inner));
}

} // namespace

known_json_keys::known_json_keys(const arrow::Schema& columns,
                                 const json_names& within) {
  const uint64_t line = json_path_into(0, '{');
  for (const auto& field : columns.fields()) {
    const uint64_t path = json_path_to(line, quoted_key(field->name()));
    known_.insert(path);
    names_.insert(field->name());
    if (!within.contains(field->name()))
      continue;
    within_.insert(path);
    know(*field->type(), path);
  }
}

void known_json_keys::know(const arrow::DataType& type, uint64_t path) {
  const bool object = type.id() == arrow::Type::STRUCT;
  const uint64_t inside = json_path_into(path, object ? '{' : '[');
  for (const auto& field : type.fields()) {
    const uint64_t one =
        object ? json_path_to(inside, quoted_key(field->name())) : inside;
    known_.insert(one);
    know(*field->type(), one);
  }
}

std::vector<std::string> known_json_keys::unknown_in(std::string_view line,
                                                     later_keys may) const {
  std::vector<std::string> out;
  json_key column; // that the keys are in
  each_json_key(line, [&](const json_key& key) {
    if (key.depth == 1)
      column = key;
    if (key.value >= line.size() || line[key.value] == 'n' ||
        known_.contains(key.path))
      return;
    const char first = line[key.value];
    const bool number = first == '-' || (first >= '0' && first <= '9');
    if (key.depth == 1
            ? may == later_keys::numbers && !number
            : may == later_keys::numbers || !within_.contains(column.path))
      return;
    const std::string name = json_unquoted(column.name);
    if (key.depth > 1 || !names_.contains(name)) // it may be written otherwise
      out.push_back(name);
  });
  return out;
}

std::optional<column_type> type_in(std::string_view line,
                                   const std::string& key) {
  const json row = json::parse(line, nullptr, false);
  const auto found = row.is_object() ? row.find(key) : row.end();
  if (found == row.end() || found->is_null())
    return std::nullopt;
  if (found->is_boolean())
    return column_type::boolean;
  if (found->is_number_float())
    return column_type::float64;
  if (found->is_number_integer() &&
      !(found->is_number_unsigned() && found->get<uint64_t>() > INT64_MAX))
    return column_type::int64;
  return column_type::text;
}

column_type type_for(column_type a, column_type b) {
  const auto is_number = [](column_type one) {
    return one == column_type::int64 || one == column_type::float64;
  };
  if (a == b)
    return a;
  return is_number(a) && is_number(b) ? column_type::float64
                                      : column_type::text;
}

bool is_nan_word(std::string_view text) {
  constexpr std::array<std::string_view, 8> words{
      "NaN", "nan", "Infinity", "-Infinity", "inf", "-inf", "Inf", "-Inf"};
  return std::find(words.begin(), words.end(), text) != words.end();
}

void nan_columns::see(std::string_view line) {
  const json row = json::parse(line, nullptr, false);
  if (!row.is_object())
    return;
  for (const auto& [name, value] : row.items()) {
    if (value.is_null())
      continue;
    values& to = seen_[name];
    if (value.is_number())
      to.numbers = true;
    else if (value.is_string() &&
             is_nan_word(value.get_ref<const std::string&>()))
      to.words = true;
    else
      to.others = true;
  }
}

json_names nan_columns::names() const {
  json_names out;
  for (const auto& [name, found] : seen_)
    if (found.numbers && found.words && !found.others)
      out.insert(name);
  return out;
}

/// More digits in a row than every float64 keeps.
static bool has_long_number(std::string_view line) {
  constexpr size_t digits_kept = 15;
  size_t digits = 0;
  for (char one : line) {
    digits = one >= '0' && one <= '9' ? digits + 1 : 0;
    if (digits > digits_kept)
      return true;
  }
  return false;
}

std::optional<std::pair<std::string, std::string>>
rounded_in(std::string_view line, const json_names& floats) {
  std::optional<std::pair<std::string, std::string>> out;
  if (floats.empty() || !has_long_number(line))
    return out;
  each_json_key(line, [&](const json_key& key) {
    if (out || key.depth != 1)
      return;
    const size_t end =
        std::min(line.find_first_of(",}] \t\r", key.value), line.size());
    const std::string_view value =
        line.substr(std::min(key.value, end), end - std::min(key.value, end));
    if (value.empty() || value[0] == '"' || value == "null" ||
        is_kept(column_type::float64, value))
      return;
    const std::string name = json_unquoted(key.name);
    if (floats.contains(name))
      out.emplace(name, value);
  });
  return out;
}

std::shared_ptr<arrow::Schema>
with_kinds_of(const std::shared_ptr<arrow::Schema>& known,
              std::shared_ptr<arrow::Schema> here) {
  if (known == nullptr)
    return here;
  if (here->num_fields() == 0)
    return known;
  arrow::FieldVector fields;
  for (const auto& field : here->fields()) {
    const auto there = known->GetFieldByName(field->name());
    fields.push_back(there != nullptr && holds_numbers(*there->type()) !=
                                             holds_numbers(*field->type())
                         ? there
                         : field);
  }
  return arrow::schema(std::move(fields));
}

std::shared_ptr<arrow::Schema> without_times(const arrow::Schema& schema) {
  arrow::FieldVector fields;
  for (const auto& field : schema.fields())
    fields.push_back(without_time(field));
  return arrow::schema(std::move(fields));
}

} // namespace ballast::data
