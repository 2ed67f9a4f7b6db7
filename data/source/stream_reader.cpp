#include "data/source/stream_reader.hpp"

#include "data/graph/graph_stream.hpp"
#include "data/operators/operator_stream.hpp"
#include "data/source/array_cells.hpp"
#include "data/source/cell_type.hpp"
#include "data/source/files_apart.hpp"
#include "data/source/source_error.hpp"
#include "data/source/stream_table.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <utility>

namespace ballast::data {

static bool is_text(const arrow::DataType& type) {
  const auto& word =
      type.id() == arrow::Type::DICTIONARY
          ? *static_cast<const arrow::DictionaryType&>(type).value_type()
          : type;
  return arrow::is_base_binary_like(word.id()) ||
         word.id() == arrow::Type::STRING_VIEW;
}

static std::string one_type_of_labels(const source_spec& spec,
                                      const std::string& name,
                                      const std::string& pointer) {
  if (tells_types(spec.format) || spec.columns.contains(name))
    return "write both with one type";
  return "write all as one or the other, or " +
         put_columns({{name, column_type::text}}, pointer);
}

/// Where files differ, of one behind it.
static std::string first_file(const source_table& table) {
  const auto later = std::ranges::find_if(
      table.files, [](const auto& one) { return one.first_row > 0; });
  return later == table.files.begin() || later == table.files.end()
             ? ""
             : " as in " + printable((later - 1)->path) +
                   ": write both with one type";
}

stream_reader::stream_reader(std::string path, record_stream& from,
                             const source_spec& spec,
                             const source_request& request, source_table& table,
                             row_condition* where, uint64_t rows_before)
    : path_(std::move(path)), from_(from), spec_(spec), request_(request),
      table_(table), where_(where), first_row_(rows_before),
      rows_read_(rows_before), schema_(from.schema()) {
  for (const auto& field : schema_->fields())
    columns_.push_back({field->name(), holds_numbers(*field->type())});
  if (spec_.format == source_format::graph)
    columns_.pop_back(); // the origin, which is no user's
  if (const auto* graph = dynamic_cast<const graph_stream*>(&from_))
    origins_ = &graph->origins();
}

uint64_t stream_reader::read(table_rows& rows, const row_faults* judge,
                             const std::function<void(bool)>& chosen) {
  choose(rows);
  if (chosen)
    chosen(label_is_text_);
  while (const std::shared_ptr<arrow::RecordBatch> batch = next(rows)) {
    selected_ = {batch, {}};
    some_ = false;
    if (request_.faults != nullptr)
      leave_out_rows(from_.bad_rows());
    if (taken_)
      take();
    if (request_.faults != nullptr)
      leave_out_rows(bad_cells(rows));
    append(rows);
    tell_in_order();
    rows_read_ += uint64_t(batch->num_rows());
    if (request_.faults != nullptr && origins_ == nullptr)
      request_.faults->read(uint64_t(batch->num_rows()));
    if (judge != nullptr)
      judge->check();
  }
  return rows_read_;
}

// -- columns ------------------------------------------------------------------

void stream_reader::choose(table_rows& rows) {
  const std::vector<std::string>& wanted =
      !table_.columns.empty() || request_.like == nullptr
          ? table_.columns
          : request_.like->columns;
  if (where_ != nullptr)
    choose_of_condition(wanted);
  if (chosen_by_content(spec_, request_))
    leave_out();
  choice_ = choose_columns(printable(path_), columns_, spec_, request_, wanted);
  for (size_t i = 0; i < choice_.kept.size(); ++i)
    check_cells(choice_.kept[i], request_.kept[i].pointer);
  if (choice_.label)
    choose_label(*choice_.label, rows);
  for (size_t feature : choice_.features)
    check_numeric(feature);
  if (table_.columns.empty())
    for (size_t feature : choice_.features)
      table_.columns.push_back(columns_[feature].name);
  place_columns();
}

/// Its columns are what it needs; those of the model are numbers.
void stream_reader::choose_of_condition(
    const std::vector<std::string>& wanted) {
  const std::vector<std::string>& names =
      !spec_.features.empty() ? spec_.features : wanted;
  std::vector<size_t> fixed;
  for (size_t i = 0; i < columns_.size(); ++i)
    if (columns_[i].name == spec_.label ||
        std::ranges::count(names, columns_[i].name) > 0)
      fixed.push_back(i);
  where_->read_alike(from_, fixed);
  const std::shared_ptr<arrow::Schema> schema = from_.schema();
  for (size_t i = 0; i < columns_.size(); ++i)
    columns_[i].numeric = holds_numbers(*schema->field(int(i))->type());
}

void stream_reader::place_columns() {
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
    const bool is_file = spec_.format != source_format::graph;
    const std::string file = is_file ? path_ : "";
    const auto schema = without_origin(*from_.schema());
    for (int column : where_->columns(schema, file))
      place_of(size_t(column));
    taken_ = where_->bind(*from_.schema(), read, file);
  }
  from_.choose(std::move(read));
}

/// Of the first file: which columns the model will not see. Numbers in them
/// later are nothing to pass over; a CSV file finds them by their cells.
void stream_reader::leave_out() {
  if (table_.left_out && spec_.format != source_format::csv)
    for (const table_column& one : columns_)
      if (one.numeric &&
          std::ranges::count(*table_.left_out, printable(one.name)))
        throw ballast_error(
            errc::invalid_data,
            printable(path_) + ": column '" + printable(one.name) +
                "' holds numbers, and is left out because the first file has "
                "none in it; name the columns of the model in \"features\", or "
                "store this one with one type",
            request_.pointer);
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

bool stream_reader::has_feature() const {
  return std::any_of(
      columns_.begin(), columns_.end(), [this](const table_column& one) {
        return one.numeric &&
               (request_.label == label_kind::none || one.name != spec_.label);
      });
}

/// All of them are text, or all are numbers, whichever file comes first.
void stream_reader::choose_label(size_t column, table_rows& rows) {
  const bool classes = request_.label == label_kind::number_of_class;
  if (classes && !is_decided(table_, rows, request_))
    rows.labels_come_from(path_);
  rows.labels_are_cells(spec_.format == source_format::csv &&
                        !spec_.columns.contains(columns_[column].name));
  label_is_text_ = classes && is_text_label(column, rows);
  const arrow::DataType& type = *schema_->field(int(column))->type();
  const bool fits =
      label_is_text_
          ? is_text(type) || from_.read_as(int(column), column_type::text)
          : columns_[column].numeric ||
                from_.read_as(int(column), column_type::float64);
  if (!fits && classes && type.id() != arrow::Type::NA &&
      rows.labels_file() != path_)
    refuse_other_labels(column, rows);
  if (!label_is_text_)
    check_numeric(column);
}

/// Decided by the training set, and there by its first file.
bool stream_reader::is_text_label(size_t column, const table_rows& rows) const {
  if (rows.text_expected())
    return *rows.text_expected();
  if (rows.labels_are_text())
    return true;
  if (request_.like != nullptr || !table_.labels.empty())
    return false;
  return is_text(*schema_->field(int(column))->type());
}

void stream_reader::refuse_other_labels(size_t column,
                                        const table_rows& rows) const {
  const std::string& first = rows.labels_file();
  const std::string& name = columns_[column].name;
  throw ballast_error(
      errc::invalid_data,
      printable(path_) + ": the label '" + printable(name) + "' has the type " +
          schema_->field(int(column))->type()->ToString() + "; expected " +
          (label_is_text_ ? "text" : "numbers") + " as in " +
          (first.empty() ? "the training set" : printable(first)) + ": " +
          one_type_of_labels(spec_, name, request_.pointer),
      request_.pointer);
}

void stream_reader::check_numeric(size_t column) {
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
                     "; expected numbers" + first_file(table_)
               : stated->second + ", as " + request_.pointer +
                     "/columns says; expected numbers: correct the type "
                     "there, or leave the column out of what is trained on"),
      request_.pointer);
}

void stream_reader::check_cells(size_t column,
                                const std::string& pointer) const {
  if (arrow::is_nested(schema_->field(int(column))->type()->id()))
    throw ballast_error(errc::invalid_data,
                        printable(path_) + ": column '" +
                            printable(columns_[column].name) +
                            "' holds lists or structs; expected numbers or "
                            "text",
                        pointer);
}

// -- rows ---------------------------------------------------------------------

/// A file of cells without types says only here that its labels are text.
std::shared_ptr<arrow::RecordBatch>
stream_reader::next(const table_rows& rows) {
  try {
    return from_.next();
  } catch (const row_error& error) {
    const std::string& first = rows.labels_file();
    if (!choice_.label || label_is_text_ || first.empty() || first == path_ ||
        error.column() != columns_[*choice_.label].name)
      throw;
    throw source_error(error.what_failed().message + "; labels in " +
                           printable(first) + " are numbers: " +
                           one_type_of_labels(spec_,
                                              columns_[*choice_.label].name,
                                              request_.pointer),
                       request_.pointer, error.detail());
  }
}

void stream_reader::take() {
  if (request_.faults != nullptr)
    return take_those_with_a_result();
  keep(taken_->select(selected_.batch,
                      [this](int64_t row) { return from_.place_of(row); }));
}

/// Some of those that are left.
void stream_reader::keep(selected_rows next) {
  if (some_)
    for (int64_t& row : next.rows)
      row = selected_.rows[size_t(row)];
  selected_ = std::move(next);
  some_ = true;
}

/// Of the rows that are appended next.
void stream_reader::number_rows() {
  const arrow::RecordBatch& batch = *selected_.batch;
  std::vector<uint64_t>& out = table_.taken_rows;
  if (origin_) {
    const auto& origins =
        static_cast<const arrow::UInt64Array&>(*batch.column(int(*origin_)));
    out.insert(out.end(), origins.raw_values(),
               origins.raw_values() + origins.length());
    return;
  }
  const size_t rows = std::max(table_.labels.size(), table_.targets.size());
  if (!some_ && !taken_ && rows == rows_read_)
    return; // as ever, they have the numbers of the source
  if (rows == rows_read_)
    table_.number_rows();
  for (int64_t row = 0; row < batch.num_rows(); ++row)
    out.push_back(rows_read_ + uint64_t(row_read(row)));
}

/// Of the batch that the stream read.
int64_t stream_reader::row_read(int64_t row) const {
  return some_ ? selected_.rows[size_t(row)] : row;
}

std::string stream_reader::place_of(int64_t row) const {
  return from_.place_of(row_read(row));
}

void stream_reader::refuse_missing(const arrow::Array& column,
                                   size_t number) const {
  if (column.null_count() == 0)
    return;
  int64_t row = 0;
  while (!column.IsNull(row))
    ++row;
  throw row_error(place_of(row), columns_[number].name, "the value is missing",
                  request_.pointer);
}

const arrow::Array& stream_reader::numbers(size_t place, size_t number) const {
  const arrow::Array& column = *selected_.batch->column(int(place));
  refuse_missing(column, number);
  return column;
}

/// Column by column; what is wrong is still found row by row.
void stream_reader::append(table_rows& rows) {
  check_stop(request_.stop);
  const number_range range = rows.range();
  std::vector<const arrow::Array*> features;
  std::vector<double> labels;
  std::optional<bad_cell> bad;
  for (;;) {
    if (choice_.label && !label_is_text_)
      labels = numbers_of(numbers(*label_, *choice_.label));
    features.clear();
    for (size_t i = 0; i < features_.size(); ++i)
      features.push_back(&numbers(features_[i], choice_.features[i]));
    const auto count = size_t(selected_.batch->num_rows());
    bad = put_rows(features, int64_t(count), request_.label == label_kind::none,
                   rows.more(count, features.size()), rows.range());
    if (!bad || request_.faults == nullptr)
      break;
    rows.give_back(count, features.size());
    rows.range() = range;
    leave_out_rows(bad_features(features, rows));
  }
  number_rows();
  append_labels(labels, bad ? bad->row + 1 : selected_.batch->num_rows(), rows);
  if (bad)
    rows.refuse_feature(bad->number,
                        columns_[choice_.features[bad->column]].name,
                        place_of(bad->row));
  for (size_t i = 0; i < kept_.size(); ++i)
    for (int64_t row = 0; row < selected_.batch->num_rows(); ++row)
      rows.keep(i, text_of(kept_[i], row));
}

void stream_reader::append_labels(const std::vector<double>& labels,
                                  int64_t count, table_rows& rows) const {
  if (!choice_.label)
    return rows.no_labels(size_t(count));
  const std::string& name = columns_[*choice_.label].name;
  for (int64_t row = 0; row < count; ++row) {
    const auto here = [&] { return place_of(row); };
    if (label_is_text_)
      rows.label(text_of(*label_, row), name, here);
    else
      rows.label(labels[size_t(row)], name, here);
  }
}

/// As it stands in the file, where the file is text.
std::string stream_reader::text_of(size_t place, int64_t row) const {
  if (const auto text = from_.text_of(int(place), row_read(row)))
    return std::string(*text);
  return cell_of(*selected_.batch->column(int(place)), row);
}

} // namespace ballast::data
