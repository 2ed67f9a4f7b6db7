/// target_encode: the mean of a target by category, which no training row
/// learns from its own target.
#include "data/fitting/category_index.hpp"
#include "data/fitting/category_operators.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <utility>

namespace ballast::data {

namespace {

using graph::unseen_kind;
using graph::value_of;

class target_operator final : public fitted_operator {
public:
  explicit target_operator(const fit_terms& terms)
      : fitted_operator(terms),
        target_(value_of<std::string>(terms.what, "target")),
        folds_(value_of<uint64_t>(terms.what, "folds")),
        smooth_(value_of<double>(terms.what, "smooth")) {
    const std::vector<std::string> all = columns();
    if (std::find(all.begin(), all.end(), target_) != all.end())
      throw ballast_error(errc::invalid_job,
                          terms.pointer + "/target: '" + printable(target_) +
                              "' is one of \"columns\"; expected another",
                          terms.pointer + "/target");
  }

  uint64_t folds() const { return folds_; }
  unseen_kind unseen() const { return unseen_of(terms()); }

  /// The target comes last.
  fit_needs needs() const override {
    fit_needs out;
    for (const std::string& name : columns())
      out.columns.push_back(
          {.column = name, .kind = value_kind::categories, .targets = true});
    out.columns.push_back({.column = target_});
    out.target = int(out.columns.size()) - 1;
    out.folds = folds_;
    out.seed = terms().seed;
    return out;
  }

  /// For each column a row of numbers for each category: the mean over all
  /// folds, then over all but the first, all but the second, ...; and likewise
  /// of all rows, for those whose category has no row elsewhere.
  void learn(const learned_facts& facts, fitted_state& into) const override {
    const std::vector<target_sum> none(folds_);
    into.numbers["means"] = means_of(none, facts.folds);
    for (size_t i = 0; i + 1 < into.columns.size(); ++i) {
      learned_column& column = into.columns[i];
      for (const auto& [category, sums] : facts.columns[i].targets)
        column.categories.push_back(category);
      put_in_order(column.categories, column.type);
      std::vector<double>& means = column.numbers["means"];
      for (const std::string& category : column.categories) {
        const std::vector<double> own = means_of(
            facts.columns[i].targets.find(category)->second, facts.folds);
        means.insert(means.end(), own.begin(), own.end());
      }
    }
  }

  std::vector<output_column>
  layout(const arrow::Schema& input,
         const fitted_state& /*state*/) const override {
    output_layout out(input);
    for (const std::string& name : columns())
      out.replace(name, {{name, arrow::float64()}});
    return out.take(terms().pointer + "/columns");
  }

  std::unique_ptr<bound_operator>
  bind(std::shared_ptr<const fitted_state> state) const override;

  cell_owner owner(const learned_column& column) const {
    return owner_of(column);
  }

private:
  static target_sum without(const std::vector<target_sum>& folds, size_t skip) {
    target_sum out;
    for (size_t fold = 0; fold < folds.size(); ++fold)
      if (fold != skip)
        out.add(folds[fold]);
    return out;
  }

  /// Drawn towards the mean of all rows (of the same folds).
  double mean_of(const target_sum& own, const target_sum& all) const {
    const double middle = all.count == 0 ? 0 : all.sum / double(all.count);
    const double weight = double(own.count) + smooth_;
    return weight > 0 ? (own.sum + smooth_ * middle) / weight : middle;
  }

  std::vector<double> means_of(const std::vector<target_sum>& own,
                               const std::vector<target_sum>& all) const {
    std::vector<double> out{
        mean_of(without(own, folds_), without(all, folds_))};
    for (size_t fold = 0; fold < folds_; ++fold)
      out.push_back(mean_of(without(own, fold), without(all, fold)));
    return out;
  }

  const std::string target_;
  const uint64_t folds_;
  const double smooth_;
};

class bound_targets final : public bound_operator {
public:
  bound_targets(const target_operator& what,
                std::shared_ptr<const fitted_state> state)
      : what_(what), state_(std::move(state)) {
    for (size_t i = 0; i + 1 < state_->columns.size(); ++i)
      indices_.emplace_back(state_->columns[i].categories);
  }

  made_rows apply(const given_rows& rows) override {
    made_rows out;
    const uint64_t each = what_.folds() + 1;
    for (size_t i = 0; i < indices_.size(); ++i) {
      const learned_column& column = state_->columns[i];
      const std::vector<double>& means = column.numbers.at("means");
      const std::vector<double>& of_all = state_->numbers.at("means");
      std::vector<double> values(size_t(rows.rows));
      for_each_category(
          *rows.columns[i], [&](int64_t row, std::string_view text) {
            if (text.data() == nullptr)
              refuse_missing(what_.owner(column), rows.place, row);
            uint64_t fold = 0; // all
            if (rows.of_training)
              fold = 1 + fold_of(rows.first_row + uint64_t(row), what_.folds(),
                                 state_->seed);
            const int place = indices_[i].find(text);
            if (place < 0 && what_.unseen() == unseen_kind::error)
              refuse_unseen(what_.owner(column), column.categories, rows.place,
                            row, text);
            values[size_t(row)] =
                place < 0 ? of_all[fold] : means[uint64_t(place) * each + fold];
          });
      out.columns.push_back(float64_array(std::move(values)));
    }
    return out;
  }

private:
  const target_operator& what_;
  const std::shared_ptr<const fitted_state> state_;
  std::vector<category_index> indices_;
};

std::unique_ptr<bound_operator>
target_operator::bind(std::shared_ptr<const fitted_state> state) const {
  return std::make_unique<bound_targets>(*this, std::move(state));
}

} // namespace

std::unique_ptr<fitted_operator> make_target_operator(const fit_terms& terms) {
  if (terms.what.what != graph::op::target_encode)
    return nullptr;
  return std::make_unique<target_operator>(terms);
}

} // namespace ballast::data
