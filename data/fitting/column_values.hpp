/// The cells of a column as what operators learn from: numbers, or categories
/// as text; and what is said where a cell is neither. Includes Arrow; for
/// source files of data/ only. Any thread. Errors: row_error with the row, the
/// column, what was expected and what to do.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

/// "people.csv: row 12", of a row of a batch.
using row_finder = std::function<std::string(int64_t row)>;

/// What an operator takes a column for.
enum class value_kind : uint8_t { numbers, categories, times, texts, any };
/// "numbers (int64, float64, bool)", for messages.
std::string kinds_text(value_kind kind);
bool is_of_kind(value_kind kind, const arrow::DataType& type);

/// Whose cells these are, for messages.
struct cell_owner {
  std::string pointer; // of the node
  std::string step;    // "standardize"
  std::string column;
};

/// A column of numbers as float64, or what stands for a missing one.
class number_column {
public:
  /// Keeps `column`.
  explicit number_column(std::shared_ptr<arrow::Array> column);

  /// One for each row; of a null any.
  std::span<const double> values() const { return values_; }
  bool is_missing(int64_t row) const {
    const double value = values_[size_t(row)];
    return is_null(row) || value != value;
  }
  bool has_missing() const { return missing_ > 0; }
  int64_t missing() const { return missing_; }
  /// Those that are not missing.
  std::vector<double> present() const;

private:
  bool is_null(int64_t row) const {
    if (valid_ == nullptr)
      return all_null_;
    const uint64_t bit = first_bit_ + uint64_t(row);
    return (valid_[bit / 8] >> bit % 8 & 1) == 0;
  }

  std::shared_ptr<arrow::Array> column_;
  const uint8_t* valid_ = nullptr; // bits of `column_`; null: all are alike
  uint64_t first_bit_ = 0;
  bool all_null_ = false;
  std::vector<double> converted_;
  std::span<const double> values_;
  int64_t missing_ = 0;
};

/// Refuses missing values and infinite ones.
void check_numbers(const number_column& numbers, const cell_owner& owner,
                   const row_finder& place);
/// Refuses infinite ones.
void check_finite(const number_column& numbers, const cell_owner& owner,
                  const row_finder& place);

/// Calls `see(row, text)` for each row in order; a missing one has no text
/// (data() is null), and a NaN is missing.
void for_each_category(
    const arrow::Array& column,
    const std::function<void(int64_t row, std::string_view text)>& see);
[[noreturn]] void refuse_missing(const cell_owner& owner,
                                 const row_finder& place, int64_t row);

/// A column of an output whose cells the caller writes, all of them, before
/// anybody reads it. Of Arrow's memory, which is not given back in between.
template <class Value>
struct new_cells {
  std::shared_ptr<arrow::Array> column;
  Value* values = nullptr;
};
new_cells<double> new_float64(size_t rows);
new_cells<uint8_t> new_flags(size_t rows);
/// As a column of an output.
std::shared_ptr<arrow::Array> float64_array(std::vector<double> values);
std::shared_ptr<arrow::Array> int64_array(std::vector<int64_t> values);
std::shared_ptr<arrow::Array> flag_array(std::vector<uint8_t> values);

/// Categories in their order: numbers of a column of numbers by value, text by
/// its bytes.
void put_in_order(std::vector<std::string>& categories,
                  const std::string& type);

} // namespace ballast::data
