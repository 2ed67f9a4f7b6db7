/// impute: a value where one is missing.
#include "data/base/arrow_support.hpp"
#include "data/fitting/fitted_operator.hpp"
#include "data/fitting/neighbour_filler.hpp"
#include "data/neighbours/class_index.hpp"
#include "data/source/bad_rows.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/graph/fitted_words.hpp"

#include <arrow/api.h>
#include <arrow/compute/api.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace ballast::data {

namespace {

using graph::impute_kind;
using graph::neighbour_weights;
using graph::value_of;

std::shared_ptr<arrow::Array> computed(const arrow::Result<arrow::Datum>& from,
                                       const std::string& name) {
  return take_arrow(from, errc::invalid_data, printable(name)).make_array();
}

/// True where a value is missing; a NaN is.
std::shared_ptr<arrow::Array>
missing_of(const std::shared_ptr<arrow::Array>& column,
           const std::string& name) {
  return computed(arrow::compute::IsNull(column, arrow::compute::NullOptions(
                                                     /*nan_is_null=*/true)),
                  name);
}

std::shared_ptr<arrow::Array> flags_of(const arrow::Array& missing) {
  const auto& bits = static_cast<const arrow::BooleanArray&>(missing);
  std::vector<uint8_t> out(size_t(bits.length()));
  for (size_t row = 0; row < out.size(); ++row)
    out[row] = bits.Value(int64_t(row)) ? 1 : 0;
  return flag_array(std::move(out));
}

class impute_operator final : public fitted_operator {
public:
  explicit impute_operator(const fit_terms& terms)
      : fitted_operator(terms),
        kind_(*parse_word<impute_kind>(
            value_of<std::string>(terms.what, "strategy"))),
        indicator_(value_of<bool>(terms.what, "indicator")) {
    const std::string pointer = terms.pointer;
    if (kind_ == impute_kind::drop && indicator_)
      throw ballast_error(errc::invalid_job,
                          pointer + "/indicator: means nothing with strategy "
                                    "\"drop\"; leave it out",
                          pointer + "/indicator");
    const bool constant = kind_ == impute_kind::constant;
    if (constant == value_of<std::string>(terms.what, "value").empty())
      throw ballast_error(errc::invalid_job,
                          pointer + "/value: " +
                              (constant ? "is required with strategy "
                                          "\"constant\": a number, or text"
                                        : "belongs to strategy \"constant\""),
                          pointer + "/value");
  }

  impute_kind kind() const { return kind_; }
  bool indicator() const { return indicator_; }
  bool is_average() const {
    return kind_ == impute_kind::mean || kind_ == impute_kind::median ||
           kind_ == impute_kind::knn;
  }

  bool drops_rows() const override { return kind_ == impute_kind::drop; }

  fit_needs needs() const override {
    fit_needs out;
    for (const std::string& name : columns())
      out.columns.push_back(
          {.column = name,
           .kind = is_average() ? value_kind::numbers : value_kind::any,
           .missing_allowed = true,
           .moments = kind_ == impute_kind::mean || kind_ == impute_kind::knn,
           .quantiles = kind_ == impute_kind::median,
           .categories = kind_ == impute_kind::mode});
    if (kind_ == impute_kind::knn)
      out.sample_rows = std::min(value_of<uint64_t>(terms().what, "donors"),
                                 donor_numbers_max / columns().size());
    return out;
  }

  void learn(const learned_facts& facts, fitted_state& into) const override {
    for (size_t i = 0; i < into.columns.size(); ++i) {
      learned_column& column = into.columns[i];
      const column_facts& of = facts.columns[i];
      if ((is_average() || kind_ == impute_kind::mode) && of.values == 0)
        throw ballast_error(
            errc::invalid_data,
            terms().pointer + ": column '" + printable(column.name) +
                "' has no value in any of the " + std::to_string(into.rows) +
                " training rows; \"drop\" the column, or take strategy "
                "\"constant\"",
            terms().pointer);
      if (kind_ == impute_kind::mean || kind_ == impute_kind::knn)
        column.numbers["value"] = {of.numbers.mean};
      if (kind_ == impute_kind::median)
        column.numbers["value"] = {of.quantiles.ranked().quantile(0.5)};
      if (kind_ == impute_kind::mode)
        column.categories = {mode_of(of.categories, column.type)};
      if (kind_ == impute_kind::constant)
        constant_of(column);
    }
    if (kind_ == impute_kind::knn)
      keep_donors(facts, into);
  }

  std::vector<output_column>
  layout(const arrow::Schema& input,
         const fitted_state& /*state*/) const override {
    output_layout out(input);
    if (kind_ != impute_kind::drop)
      for (const std::string& name : columns())
        out.replace(
            name, {{name, is_average() ? arrow::float64()
                                       : input.GetFieldByName(name)->type()}});
    for (const std::string& name : columns())
      if (indicator_)
        out.append(name + "_missing", arrow::uint8());
    return out.take(terms().pointer + "/columns");
  }

  std::unique_ptr<bound_operator>
  bind(std::shared_ptr<const fitted_state> state) const override;

  /// What stands in for a missing value of a column.
  std::shared_ptr<arrow::Scalar> scalar_of(const learned_column& column,
                                           const std::string& text) const {
    std::shared_ptr<arrow::DataType> type;
    for (const auto& known :
         {arrow::utf8(), arrow::large_utf8(), arrow::float64(),
          arrow::float32(), arrow::int64(), arrow::int32(), arrow::int16(),
          arrow::int8(), arrow::uint64(), arrow::uint32(), arrow::uint16(),
          arrow::uint8(), arrow::boolean()})
      if (known->ToString() == column.type)
        type = known;
    auto out = type == nullptr ? arrow::Status::TypeError("no such type")
                               : arrow::Scalar::Parse(type, text);
    if (!out.ok())
      throw ballast_error(errc::invalid_data,
                          terms().pointer + "/value: '" + printable(text) +
                              "' is none of column '" + printable(column.name) +
                              "', which is " + column.type +
                              "; expected a value of this type, or \"cast\" "
                              "the column before",
                          terms().pointer + "/value");
    return *out;
  }

  /// Of strategy "constant". What parses as NaN or beyond the type would leave
  /// the gap, or make a number that nothing behind this node takes.
  std::shared_ptr<arrow::Scalar>
  constant_of(const learned_column& column) const {
    const auto text = value_of<std::string>(terms().what, "value");
    auto out = scalar_of(column, text);
    const bool finite =
        out->type->id() == arrow::Type::DOUBLE
            ? std::isfinite(static_cast<arrow::DoubleScalar&>(*out).value)
        : out->type->id() == arrow::Type::FLOAT
            ? std::isfinite(static_cast<arrow::FloatScalar&>(*out).value)
            : true;
    if (!finite)
      throw ballast_error(errc::invalid_data,
                          terms().pointer + "/value: '" + printable(text) +
                              "' is no finite number of column '" +
                              printable(column.name) + "', which is " +
                              column.type + "; expected one such as 0",
                          terms().pointer + "/value");
    return out;
  }

  cell_owner owner(const learned_column& column) const {
    return owner_of(column);
  }

private:
  /// The rows that others are filled from. A missing value is infinite in a
  /// state, so that the state equals itself.
  void keep_donors(const learned_facts& facts, fitted_state& into) const {
    for (size_t i = 0; i < into.columns.size(); ++i)
      if (const moments& of = facts.columns[i].numbers;
          of.least < -class_index::values_max() ||
          of.most > class_index::values_max())
        throw ballast_error(errc::invalid_data,
                            terms().pointer + ": column '" +
                                printable(into.columns[i].name) +
                                "' has numbers beyond 1e150, which have no "
                                "distance; expected smaller ones: "
                                "\"clip_outliers\" before",
                            terms().pointer);
    std::vector<double>& donors = into.numbers[donors_name];
    donors = facts.sample.values();
    for (double& one : donors)
      if (std::isnan(one))
        one = std::numeric_limits<double>::infinity();
    if (facts.sample.rows() < facts.rows)
      into.columns[0].note = "and the others are filled from " +
                             std::to_string(facts.sample.rows()) + " of " +
                             std::to_string(facts.rows) +
                             " training rows, which were drawn";
  }

  /// Of all donors together: 256 MiB.
  static constexpr uint64_t donor_numbers_max = uint64_t{1} << 25;

  /// The first in order where several occur as often.
  static std::string mode_of(const category_counts& counts,
                             const std::string& type) {
    uint64_t most = 0;
    for (const auto& [category, times] : counts.all())
      most = std::max(most, times);
    std::vector<std::string> all;
    for (const auto& [category, times] : counts.all())
      if (times == most)
        all.push_back(category);
    put_in_order(all, type);
    return all.front();
  }

  const impute_kind kind_;
  const bool indicator_;
};

class bound_impute final : public bound_operator {
public:
  bound_impute(const impute_operator& what,
               std::shared_ptr<const fitted_state> state)
      : what_(what), state_(std::move(state)) {
    const graph::node& node = what_.terms().what;
    for (const learned_column& column : state_->columns) {
      std::shared_ptr<arrow::Scalar> value;
      if (what_.kind() == impute_kind::mode)
        value = what_.scalar_of(column, column.categories.at(0));
      if (what_.kind() == impute_kind::constant)
        value = what_.constant_of(column);
      values_.push_back(std::move(value));
    }
    if (what_.kind() == impute_kind::knn)
      filler_.emplace(*state_, value_of<uint64_t>(node, "neighbors"),
                      *parse_word<neighbour_weights>(value_of<std::string>(
                          node, "weights")) == neighbour_weights::distance);
  }

  bool in_order() const override {
    return what_.kind() == impute_kind::forward;
  }

  made_rows apply(const given_rows& rows) override {
    if (what_.kind() == impute_kind::drop)
      return without_missing(rows);
    if (what_.kind() == impute_kind::knn)
      return filled_by_neighbours(rows);
    made_rows out;
    arrow::ArrayVector flags;
    for (size_t i = 0; i < rows.columns.size(); ++i) {
      const learned_column& column = state_->columns[i];
      if (what_.is_average()) {
        out.columns.push_back(averaged(rows, i, flags));
        continue;
      }
      const auto missing = missing_of(rows.columns[i], column.name);
      if (what_.indicator())
        flags.push_back(flags_of(*missing));
      if (what_.kind() == impute_kind::forward)
        out.columns.push_back(carried(rows, i, missing));
      else
        out.columns.push_back(filled(rows.columns[i], missing, i));
    }
    out.columns.insert(out.columns.end(), flags.begin(), flags.end());
    return out;
  }

private:
  /// The type stays that of the rows, which may hold texts of another width
  /// than those that were learned from.
  std::shared_ptr<arrow::Array>
  filled(const std::shared_ptr<arrow::Array>& column,
         const std::shared_ptr<arrow::Array>& missing, size_t i) const {
    const std::string& name = state_->columns[i].name;
    const auto value =
        take_arrow(arrow::compute::Cast(values_[i], column->type()),
                   errc::invalid_data, printable(name));
    return computed(arrow::compute::IfElse(missing, value, column), name);
  }

  std::shared_ptr<arrow::Array> averaged(const given_rows& rows, size_t i,
                                         arrow::ArrayVector& flags) const {
    const learned_column& column = state_->columns[i];
    const number_column numbers(rows.columns[i]);
    check_finite(numbers, what_.owner(column), rows.place);
    if (what_.indicator())
      flags.push_back(flags_of_numbers(numbers));
    if (!numbers.has_missing() &&
        rows.columns[i]->type_id() == arrow::Type::DOUBLE)
      return rows.columns[i];
    const std::span<const double> given = numbers.values();
    const new_cells<double> out = new_float64(given.size());
    const double value = column.numbers.at("value").at(0);
    for (size_t row = 0; row < given.size(); ++row)
      out.values[row] = numbers.is_missing(int64_t(row)) ? value : given[row];
    return out.column;
  }

  static std::shared_ptr<arrow::Array>
  flags_of_numbers(const number_column& numbers) {
    std::vector<uint8_t> missing(numbers.values().size());
    for (size_t row = 0; row < missing.size(); ++row)
      missing[row] = numbers.is_missing(int64_t(row)) ? 1 : 0;
    return flag_array(std::move(missing));
  }

  made_rows filled_by_neighbours(const given_rows& rows) const {
    std::vector<number_column> columns;
    columns.reserve(rows.columns.size());
    for (size_t i = 0; i < rows.columns.size(); ++i) {
      columns.emplace_back(rows.columns[i]);
      check_finite(columns.back(), what_.owner(state_->columns[i]), rows.place);
    }
    const auto refuse = [&](int64_t row, size_t column) {
      throw row_error(rows.place(row), state_->columns[column].name,
                      "the number is beyond 1e150, which has no distance; "
                      "expected a smaller one: \"clip_outliers\" before " +
                          what_.terms().pointer,
                      what_.terms().pointer);
    };
    made_rows out;
    for (std::vector<double>& one : filler_->filled(columns, refuse))
      out.columns.push_back(float64_array(std::move(one)));
    for (const number_column& one : columns)
      if (what_.indicator())
        out.columns.push_back(flags_of_numbers(one));
    return out;
  }

  /// The value of the row before, which may be in the batch before.
  std::shared_ptr<arrow::Array>
  carried(const given_rows& rows, size_t i,
          const std::shared_ptr<arrow::Array>& missing) {
    const learned_column& column = state_->columns[i];
    std::shared_ptr<arrow::Array> out =
        computed(arrow::compute::IfElse(
                     missing, arrow::MakeNullScalar(rows.columns[i]->type()),
                     rows.columns[i]),
                 column.name);
    out = computed(arrow::compute::CallFunction("fill_null_forward", {out}),
                   column.name);
    if (out->null_count() > 0 && values_[i] != nullptr)
      out = computed(
          arrow::compute::IfElse(missing_of(out, column.name), values_[i], out),
          column.name);
    for (int64_t row = 0; out->null_count() > 0 && row < out->length(); ++row)
      if (out->IsNull(row))
        throw row_error(rows.place(row), column.name,
                        "the value is missing, and no row before it has one; "
                        "\"forward\" needs a value in the first row: take "
                        "another strategy, or \"sort\" before " +
                            what_.terms().pointer,
                        what_.terms().pointer + "/strategy");
    if (out->length() > 0)
      values_[i] = take_arrow(out->GetScalar(out->length() - 1),
                              errc::invalid_data, printable(column.name));
    return out;
  }

  made_rows without_missing(const given_rows& rows) const {
    made_rows out;
    for (size_t i = 0; i < rows.columns.size(); ++i) {
      const std::string& name = state_->columns[i].name;
      const auto own = missing_of(rows.columns[i], name);
      const auto& bits = static_cast<const arrow::BooleanArray&>(*own);
      for (int64_t row = 0; row < bits.length(); ++row)
        if (bits.Value(row))
          out.removed.push_back({row, name, "the value is missing", {}});
    }
    put_in_order(out.removed);
    return out;
  }

  const impute_operator& what_;
  const std::shared_ptr<const fitted_state> state_;
  std::vector<std::shared_ptr<arrow::Scalar>> values_; // forward: the last ones
  std::optional<neighbour_filler> filler_;             // of knn
};

std::unique_ptr<bound_operator>
impute_operator::bind(std::shared_ptr<const fitted_state> state) const {
  return std::make_unique<bound_impute>(*this, std::move(state));
}

} // namespace

std::unique_ptr<fitted_operator> make_impute_operator(const fit_terms& terms) {
  if (terms.what.what != graph::op::impute)
    return nullptr;
  return std::make_unique<impute_operator>(terms);
}

} // namespace ballast::data
