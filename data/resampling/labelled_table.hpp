/// The rows of a source as resampling takes them: its columns of numbers as
/// float64, row by row, those of categories as numbers of these, and its label
/// as classes, or as a number and its ranges. Includes Arrow; for source files
/// of data/ only.
///
/// One owner, one thread; immutable once built. Errors: ballast_error{
/// invalid_data} names column and row, and what was expected.
#pragma once

#include "data/resampling/category_columns.hpp"
#include "data/resampling/labelled_rows.hpp"
#include "data/resampling/resample.hpp"

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

class labelled_table {
public:
  /// For messages: what the rows are called, and each of them.
  struct names {
    std::string source;
    /// Empty: by its number in the source.
    std::function<std::string(int64_t row)> of_row = {};
  };

  /// `label`: the column's number. `others`: how the other columns are read.
  labelled_table(std::shared_ptr<arrow::RecordBatch> all, int label,
                 const feature_reading& others, names called);
  labelled_table(const labelled_table&) = delete;

  labelled_rows rows() const;
  const arrow::RecordBatch& all() const { return *all_; }
  const std::shared_ptr<arrow::RecordBatch>& batch() const { return all_; }
  int label() const { return label_; }
  /// The columns of the table that are features, in the order of theirs.
  const std::vector<int>& columns() const { return columns_; }
  const category_columns& categories() const { return categories_; }
  /// A row of the class.
  uint32_t example(uint32_t of_class) const { return examples_[of_class]; }

private:
  void read_label();
  void read_targets(const range_terms& terms);
  void choose(const feature_reading& others);
  void read_numbers();
  void read_column(int column, size_t to);
  std::string class_of(int64_t row) const;
  std::string place_of(int64_t row) const;
  std::string place_of(int column, int64_t row) const;

  const std::shared_ptr<arrow::RecordBatch> all_;
  const int label_;
  const names called_;
  std::vector<int> columns_;
  std::vector<double> values_; // rows x columns
  std::vector<uint32_t> of_row_;
  std::vector<std::string> names_;
  std::vector<uint32_t> examples_;
  category_columns categories_;
  std::vector<double> targets_; // of a label that is a number
};

} // namespace ballast::data
