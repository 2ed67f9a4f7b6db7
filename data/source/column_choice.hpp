/// Selects the label and feature columns of a table (csv, parquet), and
/// validates their numbers. Shared by the readers of tables.
#pragma once

#include "data/source/source_table.hpp"
#include "store/work_watch.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

struct table_column {
  std::string name;
  bool numeric = false;
};

/// Up to 12 of them, quoted: "'a', 'b'".
std::string list_of(std::span<const std::string> names);

struct column_choice {
  std::optional<size_t> label; // if rows have one
  std::vector<size_t> features;
  std::vector<size_t> kept; // of source_request::kept
};

/// Follows the job's `label` and `features`; without the latter, takes the
/// columns of the training set (or an earlier file), else every other numeric
/// column. ballast_error{invalid_data} names file and column.
column_choice choose_columns(const std::string& file,
                             const std::vector<table_column>& columns,
                             const source_spec& spec,
                             const source_request& request,
                             const std::vector<std::string>& wanted);

/// True if the features are found by the content of columns, not by name.
bool chosen_by_content(const source_spec& spec, const source_request& request);

/// Indices of the columns beside the label that hold no numbers.
std::vector<size_t> text_columns(const std::vector<table_column>& columns,
                                 const source_spec& spec,
                                 const source_request& request);

/// Collects rows of numbers into a source_table. `place` is called only for an
/// error: "FILE: row 3 (line 4)".
class table_rows {
public:
  table_rows(source_table& table, const source_request& request)
      : table_(table), request_(request), numbers_(request.kept.size()) {
    for (const column_to_keep& one : request.kept)
      table.kept.push_back({one.name, {}, {}});
    if (request.like != nullptr)
      for (const std::string& name : request.like->class_names)
        names_.emplace(name, int32_t(names_.size()));
  }

  template <class Place>
  void feature(double number, const std::string& column, Place place) {
    const float value = float(number);
    // Also false for NaN. A double beyond float32 becomes infinite.
    if (!(value - value == 0))
      refuse_number(number, column, place());
    if (request_.label == label_kind::none)
      count_token(number, column, place);
    values_.push_back(value);
  }
  template <class Place>
  void label(double number, const std::string& column, Place place) {
    check_stop(request_.stop);
    if (request_.label == label_kind::target) {
      const float value = float(number);
      if (!(value - value == 0))
        refuse_number(number, column, place());
      table_.targets.push_back(value);
      return;
    }
    if (!(number >= 0 && number < double(classes_max)) ||
        number != double(int32_t(number)))
      refuse_label(number, column, place());
    if (request_.like != nullptr && number >= request_.like->row.classes)
      refuse_new_class(number, column, place());
    table_.labels.push_back(int32_t(number));
  }
  /// A label that is text; one class for each text. For classes only.
  template <class Place>
  void label(std::string_view name, const std::string& column, Place place) {
    check_stop(request_.stop);
    if (name.empty())
      refuse_missing(column, place());
    const auto [found, fresh] =
        names_.try_emplace(std::string(name), int32_t(names_.size()));
    if (fresh && (request_.like != nullptr || names_.size() > classes_max))
      refuse_new_name(name, column, place());
    table_.labels.push_back(found->second);
  }
  bool labels_are_text() const { return !names_.empty(); }
  /// For rows of tokens, which have no label: all get one class.
  void no_label() {
    check_stop(request_.stop);
    table_.row.classes = 1;
    table_.labels.push_back(0);
  }
  /// The next row's cell of kept column `index`; empty: missing.
  void keep(size_t index, std::string_view cell);
  /// Moves everything into the table, in the smallest exact type.
  void finish(size_t features);

private:
  template <class Place>
  void count_token(double number, const std::string& column, Place place) {
    if (!(number >= 0 && number < double(tokens_max)) ||
        number != double(int32_t(number)))
      refuse_token(number, column, place());
    table_.row.vocabulary =
        std::max(table_.row.vocabulary, uint32_t(number) + 1);
  }
  [[noreturn]] void refuse_token(double number, const std::string& column,
                                 const std::string& place) const;
  [[noreturn]] void refuse_number(double number, const std::string& column,
                                  const std::string& place) const;
  [[noreturn]] void refuse_label(double number, const std::string& column,
                                 const std::string& place) const;
  [[noreturn]] void refuse_missing(const std::string& column,
                                   const std::string& place) const;
  [[noreturn]] void refuse_new_name(std::string_view name,
                                    const std::string& column,
                                    const std::string& place) const;
  void number_names();
  [[noreturn]] void refuse_new_class(double number, const std::string& column,
                                     const std::string& place) const;

  source_table& table_;
  const source_request& request_;
  std::vector<float> values_;
  std::vector<placement::text_numbers> numbers_; // by kept column
  std::map<std::string, int32_t> names_; // of classes; numbered as they come
};

} // namespace ballast::data
