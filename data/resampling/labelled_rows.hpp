/// Rows with a class, as resampling takes and gives them. Values; the views
/// stay as long as what they look at.
#pragma once

#include "data/neighbours/point_view.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ballast::data {

/// Columns whose values are categories: each cell as the number of its value in
/// the order of the column's values.
struct category_view {
  std::span<const uint32_t> codes;  // rows x columns
  std::span<const uint32_t> counts; // how many there are, by column

  size_t columns() const { return counts.size(); }
  std::span<const uint32_t> at(size_t row) const {
    return codes.subspan(row * columns(), columns());
  }
};

/// Classes are numbers in the order of their names (numbers by value, texts by
/// bytes); each has a row.
struct labelled_rows {
  point_view features; // finite; none of a method that needs no numbers
  std::span<const uint32_t> of_row;
  std::vector<std::string> names; // by class
  std::string label;              // the column, for messages
  category_view categories = {};  // of methods that take some
  /// The label where it is a number to be predicted; the classes are then
  /// ranges of it, in order.
  std::span<const double> targets = {};
};

/// The rows of each class, in order.
using rows_by_class = std::vector<std::vector<uint32_t>>;
rows_by_class by_class(std::span<const uint32_t> of_row, size_t classes);

/// "class 'a' of column 'y'".
std::string class_text(const labelled_rows& rows, uint32_t of_class);

/// A row that was not in the input: parent + fraction (other - parent).
struct made_row {
  uint32_t of_class = 0;
  uint32_t parent = no_row; // of the input; no_row: a centre, or noise
  uint32_t other = no_row;
  double fraction = 0;
};

struct resampled_rows {
  /// Rows of the input, in the order of the output; some may come repeatedly.
  std::vector<uint32_t> kept;
  /// Behind them.
  std::vector<made_row> made;
  std::vector<double> values;  // made x columns
  std::vector<uint32_t> codes; // made x columns of categories
  std::vector<double> targets; // of the made ones, where rows have some
};

} // namespace ballast::data
