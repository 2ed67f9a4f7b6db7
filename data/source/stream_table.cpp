#include "data/source/stream_table.hpp"

#include "data/graph/graph_stream.hpp"
#include "data/operators/operator_stream.hpp"
#include "data/source/array_cells.hpp"
#include "data/source/column_choice.hpp"
#include "data/source/database_source.hpp"
#include "data/source/file_name_stream.hpp"
#include "data/source/file_text.hpp"
#include "data/source/files_apart.hpp"
#include "data/source/ipc_stream.hpp"
#include "data/source/jsonl_stream.hpp"
#include "data/source/orc_stream.hpp"
#include "data/source/parquet_stream.hpp"
#include "data/source/row_condition.hpp"
#include "runtime/base/check.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <utility>

namespace ballast::data {

namespace {

/// One file: its columns, then its rows.
class stream_reader {
public:
  /// `where`: null, or which rows are taken. `rows_before`: of earlier files.
  stream_reader(std::string path, record_stream& from, const source_spec& spec,
                const source_request& request, source_table& table,
                const row_condition* where, uint64_t rows_before)
      : path_(std::move(path)), from_(from), spec_(spec), request_(request),
        table_(table), where_(where), rows_read_(rows_before),
        schema_(from.schema()) {
    for (const auto& field : schema_->fields())
      columns_.push_back({field->name(), holds_numbers(*field->type())});
    if (spec_.format == source_format::graph)
      columns_.pop_back(); // the origin, which is no user's
  }

  /// How many rows there are, with those of earlier files.
  uint64_t read(table_rows& rows) {
    choose(rows);
    while (const std::shared_ptr<arrow::RecordBatch> batch = from_.next()) {
      if (taken_)
        take(batch);
      const arrow::RecordBatch& these = taken_ ? *selected_.batch : *batch;
      if (origin_)
        keep_origins(these);
      append(these, rows);
      rows_read_ += uint64_t(batch->num_rows());
    }
    return rows_read_;
  }

private:
  void take(const std::shared_ptr<arrow::RecordBatch>& batch) {
    selected_ = taken_->select(
        batch, [this](int64_t row) { return from_.place_of(row); });
    if (!origin_)
      for (int64_t row : selected_.rows)
        table_.taken_rows.push_back(rows_read_ + uint64_t(row));
  }
  void keep_origins(const arrow::RecordBatch& batch) {
    const auto& origins =
        static_cast<const arrow::UInt64Array&>(*batch.column(int(*origin_)));
    table_.taken_rows.insert(table_.taken_rows.end(), origins.raw_values(),
                             origins.raw_values() + origins.length());
  }
  /// Of the batch that the stream read.
  int64_t row_read(int64_t row) const {
    return taken_ ? selected_.rows[size_t(row)] : row;
  }
  std::string place_of(int64_t row) const {
    return from_.place_of(row_read(row));
  }

  void choose(const table_rows& rows) {
    if (chosen_by_content(spec_, request_))
      leave_out();
    const std::vector<std::string>& wanted =
        !table_.columns.empty() || request_.like == nullptr
            ? table_.columns
            : request_.like->columns;
    choice_ =
        choose_columns(printable(path_), columns_, spec_, request_, wanted);
    for (size_t i = 0; i < choice_.kept.size(); ++i)
      check_cells(choice_.kept[i], request_.kept[i].pointer);
    label_is_text_ = choice_.label && is_text_label(*choice_.label, rows);
    if (label_is_text_)
      from_.read_as(int(*choice_.label), column_type::text);
    else if (choice_.label)
      check_numeric(*choice_.label);
    for (size_t feature : choice_.features)
      check_numeric(feature);
    if (table_.columns.empty())
      for (size_t feature : choice_.features)
        table_.columns.push_back(columns_[feature].name);
    std::vector<int> read;
    std::vector<std::optional<size_t>> places(columns_.size()); // in `read`
    const auto place_of = [&](size_t column) {
      if (!places[column]) {
        places[column] = read.size();
        read.push_back(int(column));
      }
      return *places[column];
    };
    for (size_t feature : choice_.features)
      features_.push_back(place_of(feature));
    if (choice_.label)
      label_ = place_of(*choice_.label);
    for (size_t kept : choice_.kept)
      kept_.push_back(place_of(kept));
    if (spec_.format == source_format::graph) {
      places.emplace_back();
      origin_ = place_of(columns_.size());
    }
    if (where_ != nullptr) {
      for (int column : where_->columns(without_origin(*schema_)))
        place_of(size_t(column));
      taken_ = where_->bind(*from_.schema(), read);
    }
    from_.choose(std::move(read));
  }

  /// Of the first file: which columns the model will not see.
  void leave_out() {
    std::vector<int> texts;
    if (!table_.left_out) {
      table_.left_out.emplace();
      for (size_t i : text_columns(columns_, spec_, request_)) {
        table_.left_out->push_back(printable(columns_[i].name));
        texts.push_back(int(i));
      }
    }
    from_.leave_out(texts, table_.columns.empty() && !has_feature());
  }

  bool has_feature() const {
    return std::any_of(
        columns_.begin(), columns_.end(), [this](const table_column& one) {
          return one.numeric && (request_.label == label_kind::none ||
                                 one.name != spec_.label);
        });
  }

  /// Decided by the training set, and there by its first file.
  bool is_text_label(size_t column, const table_rows& rows) const {
    if (request_.label != label_kind::number_of_class)
      return false;
    if (rows.text_expected())
      return *rows.text_expected();
    if (rows.labels_are_text())
      return true;
    if (request_.like != nullptr || !table_.labels.empty())
      return false;
    const arrow::DataType& type = *schema_->field(int(column))->type();
    const auto& word =
        type.id() == arrow::Type::DICTIONARY
            ? *static_cast<const arrow::DictionaryType&>(type).value_type()
            : type;
    return arrow::is_base_binary_like(word.id()) ||
           word.id() == arrow::Type::STRING_VIEW;
  }

  void check_numeric(size_t column) {
    if (columns_[column].numeric ||
        from_.read_as(int(column), column_type::float64))
      return;
    const std::string& name = columns_[column].name;
    const auto stated = spec_.columns.find(name);
    throw ballast_error(
        errc::invalid_data,
        printable(path_) + ": column '" + printable(name) + "' has the type " +
            (stated == spec_.columns.end()
                 ? schema_->field(int(column))->type()->ToString() +
                       "; expected numbers"
                 : stated->second + ", as " + request_.pointer +
                       "/columns says; expected numbers: correct the type "
                       "there, or leave the column out of what is trained on"),
        request_.pointer);
  }

  void check_cells(size_t column, const std::string& pointer) const {
    if (arrow::is_nested(schema_->field(int(column))->type()->id()))
      throw ballast_error(errc::invalid_data,
                          printable(path_) + ": column '" +
                              printable(columns_[column].name) +
                              "' holds lists or structs; expected numbers or "
                              "text",
                          pointer);
  }

  void refuse_missing(const arrow::Array& column, size_t number) const {
    if (column.null_count() == 0)
      return;
    int64_t row = 0;
    while (!column.IsNull(row))
      ++row;
    throw ballast_error(errc::invalid_data,
                        place_of(row) + ", column '" +
                            printable(columns_[number].name) +
                            "': the value is missing",
                        request_.pointer);
  }

  const arrow::Array& numbers(const arrow::RecordBatch& batch, size_t place,
                              size_t number) const {
    const arrow::Array& column = *batch.column(int(place));
    refuse_missing(column, number);
    return column;
  }

  /// Column by column; what is wrong is still found row by row.
  void append(const arrow::RecordBatch& batch, table_rows& rows) {
    check_stop(request_.stop);
    std::vector<double> labels;
    if (choice_.label && !label_is_text_)
      labels = numbers_of(numbers(batch, *label_, *choice_.label));
    std::vector<const arrow::Array*> features;
    for (size_t i = 0; i < features_.size(); ++i)
      features.push_back(&numbers(batch, features_[i], choice_.features[i]));
    const std::optional<bad_cell> bad = put_rows(
        features, batch.num_rows(), request_.label == label_kind::none,
        rows.more(size_t(batch.num_rows()), features.size()), rows.range());
    append_labels(batch, labels, bad ? bad->row + 1 : batch.num_rows(), rows);
    if (bad)
      rows.refuse_feature(bad->number,
                          columns_[choice_.features[bad->column]].name,
                          place_of(bad->row));
    for (size_t i = 0; i < kept_.size(); ++i)
      for (int64_t row = 0; row < batch.num_rows(); ++row)
        rows.keep(i, text_of(batch, kept_[i], row));
  }

  void append_labels(const arrow::RecordBatch& batch,
                     const std::vector<double>& labels, int64_t count,
                     table_rows& rows) const {
    if (!choice_.label)
      return rows.no_labels(size_t(count));
    const std::string& name = columns_[*choice_.label].name;
    for (int64_t row = 0; row < count; ++row) {
      const auto here = [&] { return place_of(row); };
      if (label_is_text_)
        rows.label(text_of(batch, *label_, row), name, here);
      else
        rows.label(labels[size_t(row)], name, here);
    }
  }

  /// As it stands in the file, where the file is text.
  std::string text_of(const arrow::RecordBatch& batch, size_t place,
                      int64_t row) const {
    if (const auto text = from_.text_of(int(place), row_read(row)))
      return std::string(*text);
    return cell_of(*batch.column(int(place)), row);
  }

  const std::string path_;
  record_stream& from_;
  const source_spec& spec_;
  const source_request& request_;
  source_table& table_;
  const row_condition* const where_;
  uint64_t rows_read_;
  const std::shared_ptr<arrow::Schema> schema_;
  std::vector<table_column> columns_;
  column_choice choice_;
  // Where the stream's batches have them.
  std::vector<size_t> features_;
  std::optional<size_t> label_;
  bool label_is_text_ = false;
  std::vector<size_t> kept_;
  std::optional<size_t> origin_;
  std::optional<bound_expression> taken_;
  selected_rows selected_; // of the batch that came last
};

} // namespace

static std::unique_ptr<graph_stream> open_graph(const source_spec& spec,
                                                const source_request& request) {
  BALLAST_CHECK(request.data != nullptr, "a graph without its data");
  graph_terms terms;
  terms.seed = request.seed;
  terms.spill = request.spill;
  terms.stop = request.stop;
  return std::make_unique<graph_stream>(*request.data, spec.from,
                                        std::move(terms));
}

std::unique_ptr<record_stream> open_table(const source_spec& spec,
                                          const source_request& request,
                                          const stored_file& file,
                                          const table_terms& how) {
  const std::string pointer = request.pointer + "/uri";
  const auto opened = [&]() -> stream_input {
    return {open_file(file, pointer), file.name, request.pointer, request.stop};
  };
  switch (spec.format) {
  case source_format::csv:
    return std::make_unique<csv_stream>(
        file.name, text_of_file(file, pointer, request.stop),
        csv_stream::terms{request.pointer, request.stop, spec.null_values,
                          how.texts, how.typing, types_stated(spec)});
  case source_format::parquet:
    return open_parquet(opened());
  case source_format::jsonl:
    return open_jsonl_stream(
        opened(), how.like,
        {types_stated(spec), how.typing == cell_typing::exact});
  case source_format::arrow:
    return open_ipc_stream(opened());
  case source_format::orc:
    return open_orc_stream(opened());
  case source_format::sql:
  case source_format::flight:
    return open_database(spec, request.pointer, request.stop);
  case source_format::graph:
    return open_graph(spec, request);
  case source_format::list_files:
    return open_file_name(file);
  case source_format::idx:
  case source_format::images:
  case source_format::webdataset:
  case source_format::synthetic:
    break;
  }
  BALLAST_CHECK(false, "a format without named columns");
}

std::vector<stored_file> stored_files(const source_spec& spec,
                                      const source_request& request) {
  stored_file only;
  if (is_sent(spec.format))
    only.name = name_of_database(spec, request.pointer);
  else if (spec.format == source_format::graph)
    only.name = spec.from;
  else
    return find_files(spec.uri, request.pointer + "/uri", request.stop);
  return {only};
}

namespace {

std::optional<row_condition> condition_of(const source_spec& spec,
                                          const source_request& request) {
  std::optional<row_condition> out;
  if (!spec.where.empty())
    out.emplace(spec.where, request.pointer + "/where");
  return out;
}

} // namespace

source_table read_table(const source_spec& spec,
                        const source_request& request) {
  source_table out;
  out.label = spec.label;
  table_rows rows(out, request);
  text_cells texts;
  const std::optional<row_condition> where = condition_of(spec, request);
  uint64_t rows_read = 0;
  const std::vector<stored_file> files = stored_files(spec, request);
  files_apart apart(request.fragments);
  for (size_t i = 0; i < files.size(); ++i) {
    const stored_file& file = files[i];
    out.files.push_back({file.name, rows_read});
    if (i > 0 && apart.can_begin() && is_decided(out, rows, request))
      apart.begin(files, i, choice_of(out, rows, texts));
    if (const auto read = apart.take(i);
        read && rows.add(*read, out.columns.size(), rows_read)) {
      rows_read += read->about().rows_read;
      continue;
    }
    const std::unique_ptr<record_stream> from =
        open_table(spec, request, file, {.texts = &texts});
    rows_read = stream_reader(file.name, *from, spec, request, out,
                              where ? &*where : nullptr, rows_read)
                    .read(rows);
    if (const auto* graph = dynamic_cast<const graph_stream*>(from.get()))
      out.files = graph->files();
  }
  if (out.labels.empty() && out.targets.empty() && rows_read > 0)
    throw ballast_error(errc::invalid_data,
                        request.pointer + "/where: none of the " +
                            std::to_string(rows_read) + " rows of " +
                            printable(spec.uri.empty() ? spec.from : spec.uri) +
                            " meets the condition",
                        request.pointer + "/where");
  rows.finish(out.columns.size());
  return out;
}

table_fragment read_table_file(const source_spec& spec,
                               const source_request& request,
                               const stored_file& file,
                               const fragment_choice& choice) {
  table_fragment out;
  out.table.label = spec.label;
  out.table.columns = choice.columns;
  out.table.left_out.emplace(); // they are known
  table_rows rows(out.table, request);
  rows.expect_text_labels(choice.text_labels);
  text_cells texts;
  for (const fragment_choice::left_out& one : choice.texts)
    texts.emplace(one.column, text_cell{one.text, one.file, one.row});
  const std::optional<row_condition> where = condition_of(spec, request);
  const std::unique_ptr<record_stream> from =
      open_table(spec, request, file, {.texts = &texts});
  out.rows_read = stream_reader(file.name, *from, spec, request, out.table,
                                where ? &*where : nullptr, 0)
                      .read(rows);
  const number_range range = rows.range();
  out.int16 = range.int16;
  out.uint8 = range.uint8;
  out.vocabulary = range.vocabulary;
  rows.finish(choice.columns.size(), false);
  return out;
}

} // namespace ballast::data
