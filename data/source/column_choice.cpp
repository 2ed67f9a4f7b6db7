#include "data/source/column_choice.hpp"

#include "data/source/cell_number.hpp"
#include "data/source/cell_type.hpp"
#include "data/source/source_error.hpp"
#include "data/store/host_memory.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace ballast::data {

namespace {

std::vector<std::string> names_of(const std::vector<table_column>& columns) {
  std::vector<std::string> out;
  for (const table_column& one : columns)
    out.push_back(one.name);
  return out;
}

std::string text_of(double number) {
  char out[32];
  std::snprintf(out, sizeof(out), "%.10g", number);
  return out;
}

/// Looks up names in one file's columns.
struct column_finder {
  const std::string& file;
  const std::vector<table_column>& columns;

  size_t find(const std::string& name, const std::string& pointer) const {
    size_t found = columns.size();
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].name != name)
        continue;
      if (found != columns.size())
        throw source_error(file + ": has two columns named '" + name +
                               "'; rename one",
                           pointer, "");
      found = i;
    }
    if (found == columns.size())
      throw source_error(file + ": has no column '" + name + "'", pointer,
                         "its columns are " + list_of(names_of(columns)));
    return found;
  }
};

/// That of the job's sampling is no feature unless the job names it as one.
std::optional<size_t> sampling_column(const source_request& request,
                                      const column_finder& in) {
  for (const column_to_keep& one : request.kept)
    if (one.pointer == "/train/sampling/column")
      return in.find(one.name, one.pointer);
  return std::nullopt;
}

bool is_a_number(std::string_view cell) {
  double ignored = 0;
  return parse_number(cell, ignored) == parsed::number;
}

} // namespace

std::string list_of(std::span<const std::string> names) {
  constexpr size_t listed_max = 12;
  constexpr size_t shown_max = 40;
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), listed_max); ++i)
    out += (i > 0 ? ", '" : "'") + printable(names[i], shown_max) + "'";
  if (names.size() > listed_max)
    out += ", ... (" + std::to_string(names.size()) + " in all)";
  return out;
}

bool chosen_by_content(const source_spec& spec, const source_request& request) {
  return spec.features.empty() && request.like == nullptr;
}

std::vector<size_t> text_columns(const std::vector<table_column>& columns,
                                 const source_spec& spec,
                                 const source_request& request) {
  std::vector<size_t> out;
  for (size_t i = 0; i < columns.size(); ++i)
    if (!columns[i].numeric &&
        (request.label == label_kind::none || columns[i].name != spec.label))
      out.push_back(i);
  return out;
}

column_choice choose_columns(const std::string& file,
                             const std::vector<table_column>& columns,
                             const source_spec& spec,
                             const source_request& request,
                             const std::vector<std::string>& wanted) {
  const column_finder in{file, columns};
  const std::string features_field = request.pointer + "/features";
  column_choice out;
  if (request.label != label_kind::none)
    out.label = in.find(spec.label, request.pointer + "/label");
  const std::vector<std::string>& names =
      !spec.features.empty() ? spec.features : wanted;
  for (const std::string& name : names)
    out.features.push_back(in.find(name, features_field));
  for (const column_to_keep& one : request.kept)
    out.kept.push_back(in.find(one.name, one.pointer));
  if (names.empty()) {
    std::set<std::string> seen;
    const std::optional<size_t> sampling = sampling_column(request, in);
    for (size_t i = 0; i < columns.size(); ++i)
      if (i != out.label && i != sampling && columns[i].numeric) {
        if (!seen.insert(columns[i].name).second)
          in.find(columns[i].name,
                  features_field); // reports that it occurs twice
        out.features.push_back(i);
      }
  }
  if (out.features.empty())
    throw source_error(
        file + ": has no column of numbers" +
            (out.label ? " beside the label '" + spec.label + "'" : ""),
        features_field, "its columns are " + list_of(names_of(columns)));
  return out;
}

void table_rows::keep(size_t index, std::string_view cell) {
  placement::kept_column& column = table_.kept[index];
  column.cells.push_back(numbers_[index].of(cell, column.texts));
}

/// By the order of the names, whatever the order of the rows.
void table_rows::number_names() {
  std::vector<int32_t> number(names_.size());
  for (auto& [name, as_it_came] : names_) {
    number[size_t(as_it_came)] = int32_t(table_.class_names.size());
    table_.class_names.push_back(name);
  }
  for (int32_t& label : table_.labels)
    label = number[size_t(label)];
}

void table_rows::finish(size_t features, bool narrowed) {
  if (!names_.empty())
    number_names();
  table_.row.features = uint32_t(features);
  table_.row.shape = {uint32_t(features)};
  table_.row.stored = ledger::stored_type::float32;
  table_.row.vocabulary = range_.vocabulary;
  table_.rows = std::max(table_.labels.size(), table_.targets.size());
  if (file_) {
    store();
    file_->are_of(table_.row.features);
    table_.elsewhere = std::move(file_);
    // Converted when they are read.
    table_.row.stored = range_.uint8   ? ledger::stored_type::uint8
                        : range_.int16 ? ledger::stored_type::int16
                                       : ledger::stored_type::float32;
    return;
  }
  if (range_.int16 && narrowed)
    narrow(table_);
  table_.features.shrink_to_fit();
}

/// Moves what is in memory to the file.
void table_rows::store() {
  file_->append(table_.features.data(), table_.features.size());
  table_.features = growing_bytes();
}

/// By less than half, since there may be hundreds of millions.
template <class T>
void table_rows::grow(std::vector<T>& column, size_t rows) {
  const size_t wanted = column.size() + rows;
  if (column.capacity() >= wanted)
    return;
  const size_t room = wanted + column.size() / 8;
  check_memory_for(room, sizeof(T), "/data/train");
  column.reserve(room);
}

float* table_rows::more(size_t rows, size_t features) {
  if (request_.label == label_kind::target)
    grow(table_.targets, rows);
  else
    grow(table_.labels, rows);
  constexpr size_t on_the_way = size_t{8} << 20;
  const size_t bytes = rows * features * sizeof(float);
  const size_t before = table_.features.size();
  if (!file_ && before + bytes > request_.room.bytes)
    file_ =
        std::make_shared<row_file>(request_.room.file, request_.room.refuse);
  if (file_ &&
      before + bytes > std::min<size_t>(request_.room.bytes, on_the_way))
    store();
  return more_in_memory(bytes);
}

void table_rows::give_back(size_t rows, size_t features) {
  table_.features.resize(table_.features.size() -
                         rows * features * sizeof(float));
}

float* table_rows::more_in_memory(size_t bytes) {
  const size_t before = table_.features.size();
  table_.features.resize(before + bytes);
  return reinterpret_cast<float*>(table_.features.data() + before);
}

/// Whether text or numbers come first must not decide what labels mean.
bool table_rows::may_be_new(std::string_view name) const {
  return !name.empty() && request_.like == nullptr &&
         names_.size() < size_t(classes_max) &&
         !(label_cells_ && is_a_number(name));
}

void table_rows::refuse_feature(double number, const std::string& column,
                                const std::string& place) const {
  if (!std::isfinite(float(number)))
    refuse_number(number, column, place);
  refuse_token(number, column, place);
}

void table_rows::refuse_number(double number, const std::string& column,
                               const std::string& place) const {
  throw row_error(place, column,
                  std::string(std::isnan(number)
                                  ? "NaN is no number to train on"
                                  : "the number does not fit into a float32") +
                      "; remove the row or fill the value in",
                  request_.pointer,
                  std::isnan(number) ? "" : "it is " + text_of(number));
}

void table_rows::refuse_token(double number, const std::string& column,
                              const std::string& place) const {
  throw row_error(
      place, column,
      "the number is no token; tokens are whole numbers from 0 to " +
          std::to_string(tokens_max - 1) +
          "; to leave other columns out, name those of the tokens in " +
          request_.pointer + "/features",
      request_.pointer, "it is " + text_of(number));
}

void table_rows::refuse_label(double number, const std::string& column,
                              const std::string& place) const {
  if (request_.label == label_kind::target)
    refuse_number(number, column, place);
  const bool is_class = number >= 0 && number < double(classes_max) &&
                        number == double(int32_t(number));
  throw row_error(place, column,
                  is_class ? new_class_text(*request_.like)
                           : "the label is no class; classes are whole numbers "
                             "from 0 to " +
                                 std::to_string(classes_max - 1) +
                                 ", for other numbers use the loss mse",
                  request_.pointer, "label " + text_of(number));
}

void table_rows::refuse_name(std::string_view name, const std::string& column,
                             const std::string& place) const {
  constexpr size_t shown_max = 40;
  if (name.empty())
    throw row_error(place, column, "the value is missing", request_.pointer);
  if (request_.like == nullptr && label_cells_ && is_a_number(name))
    throw row_error(
        place, column,
        "the label is a number, others are text; write all of them as one or "
        "the other, or " +
            put_columns({{column, column_type::text}}, request_.pointer),
        request_.pointer,
        "label '" + printable(name, shown_max) + "'" +
            (labels_file_.empty()
                 ? ""
                 : ", the first of " + printable(labels_file_) + " is text"));
  throw row_error(
      place, column,
      request_.like != nullptr
          ? "the label is none of the " +
                std::to_string(request_.like->class_names.size()) +
                " that the training set has"
          : "there are more than " + std::to_string(classes_max) +
                " different labels; expected a column of classes, or for "
                "numbers the loss mse",
      request_.pointer, "label '" + printable(name, shown_max) + "'");
}

} // namespace ballast::data
