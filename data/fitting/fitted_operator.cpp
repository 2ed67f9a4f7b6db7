#include "data/fitting/fitted_operator.hpp"

#include "runtime/base/check.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/nearest_word.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace ballast::data {

namespace {

/// The origin of a graph is no column of a user's.
std::vector<std::string> names_of_user(const arrow::Schema& schema) {
  std::vector<std::string> out;
  for (const std::string& name : schema.field_names())
    if (name != "__origin")
      out.push_back(name);
  return out;
}

std::shared_ptr<arrow::Field> find_field(const arrow::Schema& schema,
                                         const std::string& column,
                                         const std::string& pointer) {
  const std::vector<std::string> names = names_of_user(schema);
  if (std::find(names.begin(), names.end(), column) != names.end())
    if (auto out = schema.GetFieldByName(column))
      return out;
  const std::string near = nearest_word(column, names);
  std::string all;
  for (const std::string& name : names)
    all += (all.empty() ? "'" : ", '") + printable(name, 64) + "'";
  throw ballast_error(
      errc::invalid_data,
      pointer + ": there is no column '" + printable(column) + "'" +
          (near.empty() ? "; the columns are " + printable(all, 1000)
                        : "; did you mean '" + printable(near) + "'?"),
      pointer);
}

} // namespace

output_layout::output_layout(const arrow::Schema& input) {
  for (int i = 0; i < input.num_fields(); ++i)
    if (input.field(i)->name() != "__origin")
      columns_.push_back({input.field(i)->name(), input.field(i)->type(), i});
}

void output_layout::replace(const std::string& column,
                            const std::vector<made_column>& by) {
  const auto found =
      std::find_if(columns_.begin(), columns_.end(), [&](const auto& one) {
        return one.name == column && one.input >= 0;
      });
  BALLAST_CHECK(found != columns_.end(), "a column that was looked up");
  auto place = columns_.erase(found);
  for (const made_column& one : by)
    place = columns_.insert(place, {one.first, one.second, -1, made_++}) + 1;
}

void output_layout::append(const std::string& name,
                           std::shared_ptr<arrow::DataType> type) {
  columns_.push_back({name, std::move(type), -1, made_++});
}

std::vector<output_column> output_layout::take(const std::string& pointer) {
  std::set<std::string> names{"__origin"};
  for (const output_column& one : columns_)
    if (!names.insert(one.name).second)
      throw ballast_error(errc::invalid_data,
                          pointer + ": two columns would be '" +
                              printable(one.name) +
                              "'; \"rename\" the one that is there",
                          pointer);
  return std::move(columns_);
}

std::unique_ptr<fitted_operator> make_operator(fit_terms terms) {
  for (const auto make :
       {make_scale_operator, make_shape_operator, make_impute_operator,
        make_outlier_operator, make_category_operator, make_target_operator,
        make_several_operator, make_selection_operator, make_date_operator,
        make_text_operator})
    if (auto out = make(terms))
      return out;
  BALLAST_CHECK(false, "an operator of another kind");
}

fitted_state unfitted(const fitted_operator& what, const arrow::Schema& input) {
  const fit_terms& terms = what.terms();
  fitted_state out;
  out.what = terms.what;
  out.name = terms.name;
  out.seed = graph::about(terms.what.what).seeded ? terms.seed : 0;
  const std::string pointer = terms.pointer + "/columns";
  const fit_needs needs = what.needs();
  for (const column_need& need : needs.columns) {
    const auto field = find_field(input, need.column, pointer);
    for (const learned_column& other : out.columns)
      if (other.name == need.column)
        throw ballast_error(errc::invalid_data,
                            pointer + ": '" + printable(need.column) +
                                "' is named twice; expected each column once",
                            pointer);
    if (!is_of_kind(need.kind, *field->type()))
      throw ballast_error(
          errc::invalid_data,
          pointer + ": '" + printable(need.column) + "' has the type " +
              printable(field->type()->ToString(), 200) + "; \"" +
              terms.step() + "\" needs " + kinds_text(need.kind),
          pointer);
    out.columns.push_back({need.column, field->type()->ToString()});
  }
  if (needs.target >= 0)
    out.columns.at(size_t(needs.target)).target = true;
  return out;
}

void fitted_operator::check_learned(const fitted_state& state) const {
  for (const learned_column& column : state.columns)
    for (const auto& [name, values] : column.numbers)
      if (!std::ranges::all_of(values,
                               [](double x) { return std::isfinite(x); }))
        refuse_too_large(column);
}

void fitted_operator::refuse_too_large(const learned_column& column) const {
  std::string before;
  for (const auto remedy :
       {graph::op::clip_outliers, graph::op::quantile, graph::op::log})
    if (remedy != terms_.what.what)
      before += (before.empty() ? "\"" : " or \"") +
                ballast::to_string(remedy) + "\"";
  throw ballast_error(
      errc::invalid_data,
      terms_.pointer + ": column '" + printable(column.name) +
          "' has numbers that are too large: what \"" + terms_.step() +
          "\" learns of them is beyond float64; expected smaller ones: put " +
          before + " before it, or \"derive\" the column divided by a number",
      terms_.pointer);
}

fitted_state learned_of(const fitted_operator& what, fitted_state unfitted,
                        const learned_facts& facts) {
  const fit_terms& terms = what.terms();
  if (!graph::about(terms.what.what).fitted)
    return unfitted;
  if (facts.rows == 0)
    throw ballast_error(errc::invalid_data,
                        terms.pointer + ": \"" + terms.step() +
                            "\" has no rows to learn from; expected at least "
                            "one in its first input: look at what the nodes "
                            "before it leave",
                        terms.pointer);
  unfitted.rows = facts.rows;
  for (size_t i = 0; i < unfitted.columns.size(); ++i) {
    unfitted.columns[i].values = facts.columns[i].values;
    unfitted.columns[i].missing = facts.columns[i].missing;
    unfitted.columns[i].quantile_error = facts.columns[i].quantiles.error();
  }
  what.learn(facts, unfitted);
  what.check_learned(unfitted);
  return unfitted;
}

} // namespace ballast::data
