#include "data/source/json_block.hpp"

#include "data/source/cell_number.hpp"
#include "data/source/cell_type.hpp"
#include "data/source/json_keys.hpp"

#include <arrow/api.h>
#include <arrow/json/options.h>
#include <arrow/json/reader.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace ballast::data {

void json_block::add(std::string_view line, uint64_t number) {
  const size_t begin = text.size();
  text += line;
  text += '\n';
  rows.push_back({number, begin, text.size()});
}

json_block json_block::as_texts(const json_names& columns) const {
  json_block out;
  for (const row& one : rows) {
    std::string_view line = of(one);
    line.remove_suffix(1);
    out.add(with_texts(line, columns), one.line);
  }
  out.bad = bad;
  return out;
}

json_block json_block::part(size_t first, size_t count) const {
  json_block out;
  for (size_t i = first; i < first + count; ++i)
    out.add(line_of(rows[i]), rows[i].line);
  return out;
}

void json_block::blank(const std::vector<size_t>& which) {
  const std::set<size_t> empty(which.begin(), which.end());
  json_block out;
  for (size_t i = 0; i < rows.size(); ++i)
    out.add(empty.contains(i) ? "{}" : line_of(rows[i]), rows[i].line);
  text = std::move(out.text);
  rows = std::move(out.rows);
}

std::shared_ptr<arrow::Schema> common_schema(const json_block& of,
                                             const json_names& floats) {
  struct kind {
    std::shared_ptr<arrow::DataType> type;
    size_t rows = 0;
  };
  std::vector<std::string> names;
  std::map<std::string, std::vector<kind>> found;
  for (const json_block::row& one : of.rows) {
    const auto alone = parse_json(of.of(one), nullptr, other_keys::are_columns);
    if (!alone.ok())
      continue;
    for (const auto& field : (*alone)->schema()->fields()) {
      std::vector<kind>& kinds = found[field->name()];
      if (kinds.empty())
        names.push_back(field->name());
      const bool number = arrow::is_numeric(field->type()->id());
      auto same = std::find_if(kinds.begin(), kinds.end(), [&](kind& its) {
        return its.type->Equals(field->type()) ||
               (number && arrow::is_numeric(its.type->id()));
      });
      if (same == kinds.end())
        same = kinds.insert(same, {field->type()});
      if (field->type()->id() == arrow::Type::DOUBLE)
        same->type = field->type(); // it holds whole numbers, too
      // A missing value says nothing.
      same->rows += field->type()->id() == arrow::Type::NA ? 0 : 1;
    }
  }
  arrow::FieldVector fields;
  for (const std::string& name : names) {
    const std::vector<kind>& kinds = found[name];
    const auto most = std::max_element(
        kinds.begin(), kinds.end(),
        [](const kind& a, const kind& b) { return a.rows < b.rows; });
    fields.push_back(arrow::field(
        name, floats.contains(name) && arrow::is_numeric(most->type->id())
                  ? arrow::float64()
                  : most->type));
  }
  return arrow::schema(std::move(fields));
}

json_names floats_of(const arrow::Schema& schema, const json_names& but) {
  json_names out;
  for (const auto& field : schema.fields())
    if (field->type()->id() == arrow::Type::DOUBLE &&
        !but.contains(field->name()))
      out.insert(field->name());
  return out;
}

size_t count_columns(const arrow::DataType& type) {
  size_t out = 1;
  for (const std::shared_ptr<arrow::Field>& field : type.fields())
    out += count_columns(*field->type());
  return out;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>>
parse_json(std::string_view text, std::shared_ptr<arrow::Schema> schema,
           other_keys others) {
  using arrow::json::UnexpectedFieldBehavior;
  auto options = arrow::json::ParseOptions::Defaults();
  options.explicit_schema = std::move(schema);
  options.unexpected_field_behavior =
      others == other_keys::are_columns   ? UnexpectedFieldBehavior::InferType
      : others == other_keys::are_skipped ? UnexpectedFieldBehavior::Ignore
                                          : UnexpectedFieldBehavior::Error;
  return arrow::json::ParseOne(
      options,
      std::make_shared<arrow::Buffer>(
          reinterpret_cast<const uint8_t*>(text.data()), int64_t(text.size())));
}

std::shared_ptr<arrow::Schema> texts_in(const arrow::Schema& schema,
                                        const json_names& columns) {
  arrow::FieldVector fields;
  for (const auto& field : schema.fields())
    fields.push_back(columns.contains(field->name())
                         ? field->WithType(arrow::utf8())
                         : field);
  return arrow::schema(std::move(fields));
}

std::vector<std::string_view> text_cells_of(const arrow::Array& column) {
  const auto& texts = static_cast<const arrow::StringArray&>(column);
  std::vector<std::string_view> out(size_t(texts.length()));
  for (int64_t i = 0; i < texts.length(); ++i)
    if (!texts.IsNull(i))
      out[size_t(i)] = trimmed(texts.GetView(i));
  return out;
}

/// As JSON writes it.
static bool is_json_number(std::string_view cell) {
  const size_t first = cell.starts_with('-') ? 1 : 0;
  return first < cell.size() && cell[first] >= '0' && cell[first] <= '9' &&
         form_of(cell) != cell_form::word;
}

std::shared_ptr<arrow::RecordBatch>
with_floats(const std::shared_ptr<arrow::RecordBatch>& rows,
            const json_names& floats) {
  arrow::ArrayVector out = rows->columns();
  arrow::FieldVector fields = rows->schema()->fields();
  for (size_t i = 0; i < out.size(); ++i) {
    if (!floats.contains(fields[i]->name()))
      continue;
    const std::vector<std::string_view> cells = text_cells_of(*out[i]);
    for (std::string_view cell : cells)
      if (!cell.empty() && !is_nan_word(cell) && !is_json_number(cell))
        return nullptr;
    size_t bad = 0;
    out[i] = array_of_cells({column_type::float64}, cells, bad);
    if (out[i] == nullptr)
      return nullptr;
    fields[i] = fields[i]->WithType(arrow::float64());
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)),
                                  rows->num_rows(), std::move(out));
}

std::shared_ptr<arrow::RecordBatch>
parse_rows(const json_block& of, const arrow::Schema& schema,
           const json_names& stated, other_keys others, arrow::Status& said) {
  const auto as_read = texts_in(schema, stated);
  const auto batch = parse_json(of.text, as_read, others);
  if (batch.ok())
    return *batch;
  said = batch.status();
  const json_names floats = floats_of(schema, stated); // in which "NaN" may be
  if (!floats.empty())
    if (const auto again = parse_json(of.as_texts(floats).text,
                                      texts_in(*as_read, floats), others);
        again.ok())
      return with_floats(*again, floats);
  return nullptr;
}

json_complaint complaint_of(const std::string& words) {
  const std::string_view known = "Column(/";
  const size_t column = words.find(known);
  const size_t end = words.find(')', column);
  const auto short_of = [](std::string what) {
    return what.substr(0, what.find(" in row"));
  };
  if (column != std::string::npos && end != std::string::npos) {
    const size_t begin = column + known.size();
    return {words.substr(begin, end - begin), short_of(words.substr(end + 1))};
  }
  const std::string_view prefix = "JSON parse error: ";
  std::string what =
      short_of(words.starts_with(prefix) ? words.substr(prefix.size()) : words);
  while (what.ends_with('.'))
    what.pop_back();
  return {{}, std::move(what)};
}

} // namespace ballast::data
