/// Columns of a table as categories: of each cell the number of its value in
/// the order of the column's values (numbers by value, text by bytes). Includes
/// Arrow; for source files of data/ only.
///
/// One owner, one thread; immutable once built. Errors: ballast_error{
/// invalid_data} names column and row, and what was expected.
#pragma once

#include "data/fitting/column_values.hpp"
#include "data/resampling/labelled_rows.hpp"

#include <arrow/type_fwd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ballast::data {

class category_columns {
public:
  /// Of a column; more values are no categories.
  static constexpr size_t categories_max = 65'536;

  category_columns() = default;
  /// `source`: what the rows are called; `place`: each of them.
  category_columns(const arrow::RecordBatch& all, std::vector<int> columns,
                   const std::string& source, const row_finder& place);

  category_view view() const { return {codes_, counts_}; }
  /// Of the table.
  const std::vector<int>& columns() const { return columns_; }
  /// The first row that has this category in the column with this place.
  uint32_t example(size_t column, uint32_t category) const {
    return examples_[column][category];
  }

private:
  void read(const arrow::RecordBatch& all, size_t to, const std::string& source,
            const row_finder& place);

  std::vector<int> columns_;
  std::vector<uint32_t> codes_;  // rows x columns
  std::vector<uint32_t> counts_; // by column
  std::vector<std::vector<uint32_t>> examples_;
};

} // namespace ballast::data
