#include "data/operators/column_stream.hpp"

#include "data/operators/origin_faults.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <set>
#include <utility>

namespace ballast::data {

namespace {

/// A column of the output: one of the input by its index, or made.
struct output_column {
  std::string name;
  int input = -1;
  std::optional<expression> made = std::nullopt;
  std::string pointer = {}; // of the field that says so
};

class column_stream final : public operator_stream {
public:
  column_stream(stream_pointer from, std::vector<output_column> columns,
                operator_context context)
      : operator_stream(std::move(context)), from_(std::move(from)),
        input_(from_->schema()), columns_(std::move(columns)) {
    columns_.push_back({origin_column, input_->num_fields() - 1});
    const auto named = without_origin(*input_);
    arrow::FieldVector fields;
    for (const output_column& one : columns_)
      fields.push_back(arrow::field(
          one.name, one.made ? at_field(one.pointer,
                                        [&] { return one.made->bind(named); })
                                   .type()
                             : input_->field(one.input)->type()));
    set_schema(arrow::schema(std::move(fields)));
  }

protected:
  void begin(const std::vector<int>& columns) override {
    std::vector<int> read;
    std::vector<int> place;
    for (int column : columns) {
      const output_column& one = columns_[size_t(column)];
      std::vector<int> needs{one.input};
      if (one.made) {
        needs.clear();
        for (const std::string& name : one.made->columns())
          needs.push_back(input_->GetFieldIndex(name));
      }
      read = with_keys(std::move(read), needs, place);
      makers_.push_back({one.made ? -1 : place[0], std::nullopt, one.name});
      if (one.input == input_->num_fields() - 1)
        origin_place_ = place[0];
    }
    arrow::FieldVector fields;
    for (int column : read)
      fields.push_back(input_->field(column));
    const auto schema = arrow::schema(std::move(fields));
    for (size_t i = 0; i < columns.size(); ++i)
      if (const auto& one = columns_[size_t(columns[i])]; one.made)
        makers_[i].made = one.made->bind(schema);
    from_->choose(std::move(read));
  }

  std::shared_ptr<arrow::RecordBatch> produce() override {
    while (std::shared_ptr<arrow::RecordBatch> rows = from_->next()) {
      try {
        return made_of(*rows);
      } catch (const source_error&) {
        if (context().faults == nullptr)
          throw;
      }
      rows = rows_with_results(std::move(rows), origin_place_, all_made(),
                               context());
      if (rows->num_rows() > 0)
        return made_of(*rows);
    }
    return nullptr;
  }

private:
  struct maker {
    int input = -1; // of what is read
    std::optional<bound_expression> made;
    std::string name = {};
  };

  std::shared_ptr<arrow::RecordBatch>
  made_of(const arrow::RecordBatch& rows) const {
    arrow::FieldVector fields;
    arrow::ArrayVector out;
    for (const maker& one : makers_) {
      out.push_back(one.made ? one.made->evaluate(rows,
                                                  [this](int64_t row) {
                                                    return from_->place_of(row);
                                                  })
                             : rows.column(one.input));
      fields.push_back(arrow::field("", out.back()->type()));
    }
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)),
                                    rows.num_rows(), std::move(out));
  }

  std::vector<made_column> all_made() const {
    std::vector<made_column> out;
    for (const maker& one : makers_)
      if (one.made)
        out.push_back({&*one.made, one.name});
    return out;
  }

  const stream_pointer from_;
  const std::shared_ptr<arrow::Schema> input_;
  std::vector<output_column> columns_;
  std::vector<maker> makers_;
  int origin_place_ = 0; // of what is read
};

/// Those of the input without the origin, as they are.
std::vector<output_column> all_of(const arrow::Schema& schema) {
  std::vector<output_column> out;
  for (int i = 0; i + 1 < schema.num_fields(); ++i)
    out.push_back({schema.field(i)->name(), i});
  return out;
}

std::string field_of(const operator_context& context,
                     const std::string& column) {
  return context.pointer + "/columns/" + column;
}

void refuse_twice(const std::vector<output_column>& columns,
                  const operator_context& context) {
  std::set<std::string> names{origin_column};
  for (const output_column& one : columns)
    if (!names.insert(one.name).second)
      throw ballast_error(errc::invalid_job,
                          context.pointer + "/columns: two columns would be '" +
                              printable(one.name) +
                              "'; expected a name of its own for each",
                          context.pointer + "/columns");
}

std::string quoted(const std::string& column) {
  std::string out = "\"";
  for (char c : column)
    out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

stream_pointer made_by(stream_pointer from, std::vector<output_column> columns,
                       operator_context context) {
  refuse_twice(columns, context);
  return std::make_unique<column_stream>(std::move(from), std::move(columns),
                                         std::move(context));
}

} // namespace

stream_pointer select_columns(stream_pointer from,
                              const std::vector<std::string>& columns,
                              operator_context context) {
  const auto schema = from->schema();
  std::vector<output_column> out;
  for (const std::string& name : columns)
    out.push_back(
        {name, find_column(*schema, name, context.pointer + "/columns")});
  return made_by(std::move(from), std::move(out), std::move(context));
}

stream_pointer drop_columns(stream_pointer from,
                            const std::vector<std::string>& columns,
                            operator_context context) {
  const auto schema = from->schema();
  std::vector<output_column> out = all_of(*schema);
  for (const std::string& name : columns) {
    find_column(*schema, name, context.pointer + "/columns");
    std::erase_if(out,
                  [&](const output_column& one) { return one.name == name; });
  }
  return made_by(std::move(from), std::move(out), std::move(context));
}

stream_pointer rename_columns(stream_pointer from,
                              const std::map<std::string, std::string>& names,
                              operator_context context) {
  const auto schema = from->schema();
  std::vector<output_column> out = all_of(*schema);
  for (const auto& [old_name, new_name] : names)
    out[size_t(find_column(*schema, old_name, field_of(context, old_name)))]
        .name = new_name;
  return made_by(std::move(from), std::move(out), std::move(context));
}

stream_pointer cast_columns(stream_pointer from,
                            const std::map<std::string, std::string>& types,
                            operator_context context) {
  const auto schema = from->schema();
  std::vector<output_column> out = all_of(*schema);
  for (const auto& [name, type] : types) {
    const std::string pointer = field_of(context, name);
    output_column& one = out[size_t(find_column(*schema, name, pointer))];
    one.pointer = pointer;
    one.made = parse("cast(" + quoted(name) + " as " + type + ")", pointer);
  }
  return made_by(std::move(from), std::move(out), std::move(context));
}

stream_pointer derive_columns(stream_pointer from,
                              const std::map<std::string, std::string>& made,
                              operator_context context) {
  std::vector<output_column> out = all_of(*from->schema());
  for (const auto& one : made) {
    const std::string& name = one.first;
    const std::string pointer = field_of(context, name);
    auto found =
        std::find_if(out.begin(), out.end(), [&](const output_column& other) {
          return other.name == name;
        });
    if (found == out.end())
      found = out.insert(found, {name});
    found->pointer = pointer;
    found->made = at_field(pointer, [&] { return parse(one.second, pointer); });
  }
  return made_by(std::move(from), std::move(out), std::move(context));
}

} // namespace ballast::data
