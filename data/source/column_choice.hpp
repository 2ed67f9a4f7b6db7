/// Selects the label and feature columns of a table (csv, parquet), and
/// validates their numbers. Shared by the readers of tables.
#pragma once

#include "data/source/number_columns.hpp"
#include "data/source/source_table.hpp"
#include "store/work_watch.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

class fragment_file;

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

  /// Room for the features of the next rows, row after row.
  float* more(size_t rows, size_t features);
  /// These rows, which were the last, do not come.
  void give_back(size_t rows, size_t features);
  /// What they have in common; kept up to date by whoever fills the room.
  number_range& range() { return range_; }
  /// One of them is no number to train on, or no token.
  [[noreturn]] void refuse_feature(double number, const std::string& column,
                                   const std::string& place) const;
  template <class Place>
  void label(double number, const std::string& column, Place place) {
    if (!is_label(number))
      refuse_label(number, column, place());
    if (request_.label == label_kind::target)
      table_.targets.push_back(float(number));
    else
      table_.labels.push_back(int32_t(number));
  }
  /// A label that is text; one class for each text. For classes only.
  template <class Place>
  void label(std::string_view name, const std::string& column, Place place) {
    auto found = names_.find(name);
    if (name.empty() || found == names_.end()) {
      if (!may_be_new(name))
        refuse_name(name, column, place());
      found = names_.emplace(name, int32_t(names_.size())).first;
    }
    table_.labels.push_back(found->second);
  }
  /// What label() throws of it where no row may be left out, without a place.
  void check_label(double number, const std::string& column) const {
    if (!is_label(number))
      refuse_label(number, column, {});
  }
  void check_label(std::string_view name, const std::string& column) const {
    if (name.empty() || (!names_.contains(name) && !may_be_new(name)))
      refuse_name(name, column, {});
  }
  bool labels_are_text() const { return !names_.empty(); }
  /// What files before these rows decided.
  void expect_text_labels(bool text) { text_expected_ = text; }
  std::optional<bool> text_expected() const { return text_expected_; }
  /// The column of labels has no type: where they are text, a number is none.
  void labels_are_cells(bool are) { label_cells_ = are; }
  /// The file that says whether labels are text.
  void labels_come_from(const std::string& file) { labels_file_ = file; }
  /// Empty: others read it, or it is of the training set.
  const std::string& labels_file() const { return labels_file_; }
  /// For rows of tokens, which have no label: all get one class.
  void no_labels(size_t rows) {
    table_.row.classes = 1;
    table_.labels.resize(table_.labels.size() + rows);
  }
  /// The next row's cell of kept column `index`; empty: missing.
  void keep(size_t index, std::string_view cell);
  /// All rows of a file that was read apart, of as many features; `before`: how
  /// many rows the source has before it. False: some of them are to be refused
  /// here, and nothing is changed.
  bool add(const fragment_file& from, size_t features, uint64_t before);
  /// Moves everything into the table, in the smallest exact type; or, not
  /// `narrowed`, as float32.
  void finish(size_t features, bool narrowed = true);

private:
  template <class T>
  static void grow(std::vector<T>& column, size_t rows);
  [[noreturn]] void refuse_token(double number, const std::string& column,
                                 const std::string& place) const;
  [[noreturn]] void refuse_number(double number, const std::string& column,
                                  const std::string& place) const;
  /// A class, one of those of the training set, or a number.
  bool is_label(double number) const {
    if (request_.label == label_kind::target)
      return float(number) - float(number) == 0;
    return number >= 0 && number < double(classes_max) &&
           number == double(int32_t(number)) &&
           (request_.like == nullptr || number < request_.like->row.classes);
  }
  bool may_be_new(std::string_view name) const;
  [[noreturn]] void refuse_label(double number, const std::string& column,
                                 const std::string& place) const;
  [[noreturn]] void refuse_name(std::string_view name,
                                const std::string& column,
                                const std::string& place) const;
  bool find_labels(const fragment_file& from, std::vector<int32_t>& out);
  void number_names();
  void store();
  float* more_in_memory(size_t bytes);

  source_table& table_;
  const source_request& request_;
  number_range range_;
  std::shared_ptr<row_file> file_;               // if memory does not hold them
  std::vector<placement::text_numbers> numbers_; // by kept column
  // Of classes; numbered as they come.
  std::map<std::string, int32_t, std::less<>> names_;
  std::optional<bool> text_expected_;
  std::string labels_file_;
  bool label_cells_ = false;
};

} // namespace ballast::data
