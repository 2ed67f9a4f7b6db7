#include "data/resampling/labelled_table.hpp"

#include "data/neighbours/class_index.hpp"
#include "data/resampling/relevance.hpp"
#include "data/source/array_cells.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/nearest_word.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace ballast::data {

namespace {

constexpr size_t label_values_max = 10'000;

/// Numbers by value, texts by bytes.
bool class_before(const std::string& a, const std::string& b, bool numbers) {
  if (!numbers)
    return a < b;
  double x = 0, y = 0;
  std::from_chars(a.data(), a.data() + a.size(), x);
  std::from_chars(b.data(), b.data() + b.size(), y);
  return x != y ? x < y : a < b;
}

} // namespace

labelled_table::labelled_table(std::shared_ptr<arrow::RecordBatch> all,
                               int label, const feature_reading& others,
                               names called)
    : all_(std::move(all)), label_(label), called_(std::move(called)) {
  if (all_->num_rows() >= int64_t{no_row})
    throw ballast_error(errc::invalid_data,
                        printable(called_.source) +
                            ": has more than 4 * 10^9 rows, "
                            "which resampling does not take");
  if (others.ranges)
    read_targets(*others.ranges);
  else
    read_label();
  choose(others);
  if (others.numbers)
    read_numbers();
}

labelled_rows labelled_table::rows() const {
  return {.features = {values_.empty() ? nullptr : values_.data(),
                       of_row_.size(), columns_.size()},
          .of_row = of_row_,
          .names = names_,
          .label = all_->schema()->field(label_)->name(),
          .categories = categories_.view(),
          .targets = targets_};
}

std::string labelled_table::place_of(int64_t row) const {
  return called_.of_row
             ? called_.of_row(row)
             : printable(called_.source) + ": row " + std::to_string(row + 1);
}

std::string labelled_table::place_of(int column, int64_t row) const {
  return place_of(row) + ", column '" +
         printable(all_->schema()->field(column)->name()) + "'";
}

/// Equal numbers are one class; NaN equals nothing.
std::string labelled_table::class_of(int64_t row) const {
  std::string out = cell_of(*all_->column(label_), row);
  if (!arrow::is_floating(all_->column(label_)->type_id()))
    return out;
  if (out == "nan" || out == "-nan")
    throw ballast_error(errc::invalid_data,
                        place_of(label_, row) +
                            ": the label is NaN; expected a class in each row, "
                            "so leave these rows out before, by --where or a "
                            "\"filter\"");
  return out == "-0" ? "0" : out;
}

void labelled_table::read_label() {
  const arrow::Array& cells = *all_->column(label_);
  const bool numbers = holds_numbers(*cells.type());
  std::unordered_map<std::string, uint32_t> known;
  of_row_.resize(size_t(all_->num_rows()));
  for (int64_t row = 0; row < cells.length(); ++row) {
    if (cells.IsNull(row))
      throw ballast_error(errc::invalid_data,
                          place_of(label_, row) +
                              ": the label is missing; expected a class in "
                              "each row, so leave these rows out before, by "
                              "--where or a \"filter\"");
    const auto [at, fresh] =
        known.emplace(class_of(row), uint32_t(names_.size()));
    if (fresh) {
      names_.push_back(at->first);
      examples_.push_back(uint32_t(row));
    }
    of_row_[size_t(row)] = at->second;
    if (names_.size() > label_values_max)
      throw ballast_error(errc::invalid_data,
                          printable(called_.source) + ": column '" +
                              printable(all_->schema()->field(label_)->name()) +
                              "' has more than " +
                              std::to_string(label_values_max) +
                              " values; expected classes");
  }
  std::vector<uint32_t> order(names_.size()), rank(names_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return class_before(names_[a], names_[b], numbers);
  });
  std::vector<std::string> names;
  std::vector<uint32_t> examples;
  for (size_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = uint32_t(i);
    names.push_back(names_[order[i]]);
    examples.push_back(examples_[order[i]]);
  }
  for (uint32_t& one : of_row_)
    one = rank[one];
  names_ = std::move(names);
  examples_ = std::move(examples);
}

void labelled_table::read_targets(const range_terms& terms) {
  const arrow::Array& cells = *all_->column(label_);
  const std::string name = all_->schema()->field(label_)->name();
  if (!holds_numbers(*cells.type()))
    throw ballast_error(errc::invalid_data,
                        printable(called_.source) + ": column '" +
                            printable(name) + "' is of type " +
                            cells.type()->ToString() +
                            "; this method is for a label that is a number to "
                            "be predicted; for classes take smote");
  targets_ = numbers_of(cells);
  for (size_t row = 0; row < targets_.size(); ++row)
    if (cells.IsNull(int64_t(row)) ||
        !(std::abs(targets_[row]) <= class_index::values_max()))
      throw ballast_error(errc::invalid_data,
                          place_of(label_, int64_t(row)) +
                              ": the label is missing or no finite number; "
                              "expected one in each row, at most 1e150, so "
                              "leave these rows out before, by --where or a "
                              "\"filter\"");
  value_ranges ranges = ranges_of(targets_, terms, name);
  of_row_ = std::move(ranges.of_row);
  names_ = std::move(ranges.names);
  examples_.resize(names_.size());
  for (size_t row = of_row_.size(); row-- > 0;)
    examples_[of_row_[row]] = uint32_t(row);
  if (names_.size() < 2)
    throw ballast_error(
        errc::invalid_data,
        printable(called_.source) + ": the values of column '" +
            printable(name) + "' are " +
            (names_.empty() ? std::string("none") : "one range, " + names_[0]) +
            "; expected some above and some below relevance_threshold");
}

/// Which columns are numbers, and which are categories.
void labelled_table::choose(const feature_reading& others) {
  const arrow::Schema& schema = *all_->schema();
  std::vector<bool> named(size_t(schema.num_fields()));
  for (const std::string& name : others.named) {
    const int column = schema.GetFieldIndex(name);
    const std::string near =
        column < 0 ? nearest_word(name, schema.field_names()) : "";
    if (column < 0 || column == label_)
      throw ballast_error(
          errc::usage,
          "--option categorical_features: " +
              (column == label_
                   ? "'" + printable(name) +
                         "' is the label; expected other columns"
                   : "there is no column '" + printable(name) + "'" +
                         (near.empty()
                              ? ""
                              : "; did you mean '" + printable(near) + "'?")));
    named[size_t(column)] = true;
  }
  std::vector<int> categories;
  for (int c = 0; c < schema.num_fields(); ++c) {
    if (c == label_)
      continue;
    const arrow::Type::type type = schema.field(c)->type()->id();
    const bool by_type =
        others.named.empty() &&
        (type == arrow::Type::STRING || type == arrow::Type::LARGE_STRING ||
         type == arrow::Type::BOOL);
    if (others.categories && (!others.numbers || named[size_t(c)] || by_type))
      categories.push_back(c);
    else if (others.numbers)
      columns_.push_back(c);
  }
  if (!others.categories)
    return;
  if (categories.empty())
    throw ballast_error(errc::invalid_data,
                        printable(called_.source) +
                            ": has no column of categories beside the label; "
                            "name some that are, or take a method that needs "
                            "none, as smote");
  if (others.numbers && columns_.empty())
    throw ballast_error(errc::invalid_data,
                        printable(called_.source) +
                            ": has no column of numbers beside the label; for "
                            "categories alone take smoten");
  categories_ = category_columns(*all_, std::move(categories), called_.source,
                                 [this](int64_t row) { return place_of(row); });
}

void labelled_table::read_numbers() {
  for (const int c : columns_)
    if (!holds_numbers(*all_->column(c)->type()))
      throw ballast_error(
          errc::invalid_data,
          printable(called_.source) + ": column '" +
              printable(all_->schema()->field(c)->name()) + "' is of type " +
              all_->column(c)->type()->ToString() +
              "; this method measures distances and expects numbers in all "
              "columns but the label; encode or drop it first, or take "
              "smotenc, random_over or random_under");
  if (columns_.empty())
    throw ballast_error(errc::invalid_data,
                        printable(called_.source) +
                            ": has no column beside the label; this method "
                            "expects one of numbers or more");
  values_.resize(of_row_.size() * columns_.size());
  for (size_t to = 0; to < columns_.size(); ++to)
    read_column(columns_[to], to);
}

void labelled_table::read_column(int column, size_t to) {
  const arrow::Array& cells = *all_->column(column);
  const std::vector<double> numbers = numbers_of(cells);
  for (size_t row = 0; row < numbers.size(); ++row) {
    const bool missing = cells.IsNull(int64_t(row));
    if (missing || !(std::abs(numbers[row]) <= class_index::values_max()))
      throw ballast_error(
          errc::invalid_data,
          place_of(column, int64_t(row)) + ": " +
              (missing ? std::string("the value is missing")
                       : "found " + cell_of(cells, int64_t(row))) +
              "; this method measures distances and expects a finite number, "
              "at most 1e150; fill or drop it first, or take random_over or "
              "random_under");
    values_[row * columns_.size() + to] = numbers[row];
  }
}

} // namespace ballast::data
