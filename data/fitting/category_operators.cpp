#include "data/fitting/category_operators.hpp"

#include "data/fitting/category_index.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <utility>

namespace ballast::data {

namespace {

using graph::op;
using graph::unseen_kind;
using graph::value_of;

/// one_hot and ordinal.
class category_operator final : public fitted_operator {
public:
  explicit category_operator(const fit_terms& terms)
      : fitted_operator(terms), one_hot_(terms.what.what == op::one_hot),
        unseen_(unseen_of(terms)) {}

  bool one_hot() const { return one_hot_; }
  unseen_kind unseen() const { return unseen_; }
  size_t first() const {
    return one_hot_ && value_of<bool>(terms().what, "drop_first") ? 1 : 0;
  }

  fit_needs needs() const override {
    fit_needs out;
    for (const std::string& name : columns())
      out.columns.push_back(
          {.column = name, .kind = value_kind::categories, .categories = true});
    return out;
  }

  void learn(const learned_facts& facts, fitted_state& into) const override {
    for (size_t i = 0; i < into.columns.size(); ++i) {
      learned_column& column = into.columns[i];
      for (const auto& [name, times] : facts.columns[i].categories.all())
        column.categories.push_back(name);
      check_count(column);
      check_other(column);
      put_in_order(column.categories, column.type);
    }
  }

  bool names_are_learned() const override { return one_hot_; }

  std::vector<output_column> layout(const arrow::Schema& input,
                                    const fitted_state& state) const override {
    output_layout out(input);
    if (!one_hot_)
      for (const std::string& name : columns())
        out.replace(name, {{name, arrow::int64()}});
    for (const learned_column& column : state.columns) {
      if (!one_hot_)
        break;
      std::vector<output_layout::made_column> made;
      for (size_t i = first(); i < column.categories.size(); ++i)
        made.emplace_back(column.name + "_" + column.categories[i],
                          arrow::uint8());
      if (unseen_ == unseen_kind::other)
        made.emplace_back(column.name + "_other", arrow::uint8());
      out.replace(column.name, made);
    }
    return out.take(terms().pointer + "/columns");
  }

  std::unique_ptr<bound_operator>
  bind(std::shared_ptr<const fitted_state> state) const override;

  cell_owner owner(const learned_column& column) const {
    return owner_of(column);
  }

private:
  void check_count(const learned_column& column) const {
    if (!one_hot_ || column.categories.size() <=
                         value_of<uint64_t>(terms().what, "categories_max"))
      return;
    const std::string pointer = terms().pointer + "/categories_max";
    throw ballast_error(
        errc::invalid_data,
        pointer + ": column '" + printable(column.name) + "' has " +
            std::to_string(column.categories.size()) +
            " categories in the training rows; \"ordinal\", \"hash_encode\" or "
            "\"target_encode\" make one column of them, or raise "
            "\"categories_max\"",
        pointer);
  }

  /// Its column and that of categories that were not seen would be one.
  void check_other(const learned_column& column) const {
    const std::string pointer = terms().pointer + "/unseen";
    if (one_hot_ && unseen_ == unseen_kind::other &&
        std::ranges::count(column.categories, "other") > 0)
      throw ballast_error(
          errc::invalid_data,
          pointer + ": column '" + printable(column.name) +
              "' has a category 'other', whose column would be '" +
              printable(column.name) +
              "_other' as that of the unseen ones; take \"ignore\", or "
              "\"derive\" the column with another word for it",
          pointer);
  }

  const bool one_hot_;
  const unseen_kind unseen_;
};

class bound_categories final : public bound_operator {
public:
  bound_categories(const category_operator& what,
                   std::shared_ptr<const fitted_state> state)
      : what_(what), state_(std::move(state)) {
    for (const learned_column& column : state_->columns)
      indices_.emplace_back(column.categories);
  }

  made_rows apply(const given_rows& rows) override {
    made_rows out;
    for (size_t i = 0; i < rows.columns.size(); ++i)
      if (what_.one_hot())
        add_flags(rows, i, out.columns);
      else
        add_numbers(rows, i, out.columns);
    return out;
  }

private:
  /// Calls `see(row, place)`; of an unseen one the place behind the last.
  template <class See>
  void for_each_place(const given_rows& rows, size_t i, const See& see) const {
    const learned_column& column = state_->columns[i];
    const category_index& index = indices_[i];
    const int behind = int(column.categories.size());
    for_each_category(
        *rows.columns[i], [&](int64_t row, std::string_view text) {
          if (text.data() == nullptr)
            refuse_missing(what_.owner(column), rows.place, row);
          int place = index.find(text);
          if (place < 0) {
            if (what_.unseen() == unseen_kind::error)
              refuse_unseen(what_.owner(column), column.categories, rows.place,
                            row, text);
            place = behind;
          }
          see(size_t(row), place);
        });
  }

  void add_flags(const given_rows& rows, size_t i,
                 arrow::ArrayVector& to) const {
    const size_t known = state_->columns[i].categories.size();
    const bool other = what_.unseen() == unseen_kind::other;
    std::vector<new_cells<uint8_t>> flags;
    for (size_t k = 0; k < known + (other ? 1 : 0); ++k) {
      flags.push_back(new_flags(size_t(rows.rows)));
      std::fill_n(flags.back().values, rows.rows, uint8_t{0});
    }
    for_each_place(rows, i, [&](size_t row, int place) {
      if (size_t(place) < flags.size())
        flags[size_t(place)].values[row] = 1;
    });
    for (size_t k = what_.first(); k < flags.size(); ++k)
      to.push_back(std::move(flags[k].column));
  }

  void add_numbers(const given_rows& rows, size_t i,
                   arrow::ArrayVector& to) const {
    const int behind = int(state_->columns[i].categories.size());
    const bool other = what_.unseen() == unseen_kind::other;
    std::vector<int64_t> out(size_t(rows.rows));
    for_each_place(rows, i, [&](size_t row, int place) {
      out[row] = place == behind && !other ? -1 : place;
    });
    to.push_back(int64_array(std::move(out)));
  }

  const category_operator& what_;
  const std::shared_ptr<const fitted_state> state_;
  std::vector<category_index> indices_;
};

std::unique_ptr<bound_operator>
category_operator::bind(std::shared_ptr<const fitted_state> state) const {
  return std::make_unique<bound_categories>(*this, std::move(state));
}

class hash_operator final : public fitted_operator, public bound_operator {
public:
  explicit hash_operator(const fit_terms& terms)
      : fitted_operator(terms),
        buckets_(value_of<uint64_t>(terms.what, "buckets")) {}

  fit_needs needs() const override {
    fit_needs out;
    for (const std::string& name : columns())
      out.columns.push_back({.column = name, .kind = value_kind::categories});
    return out;
  }

  std::vector<output_column>
  layout(const arrow::Schema& input,
         const fitted_state& /*state*/) const override {
    output_layout out(input);
    for (const std::string& name : columns())
      out.replace(name, {{name, arrow::int64()}});
    return out.take(terms().pointer + "/columns");
  }

  std::unique_ptr<bound_operator>
  bind(std::shared_ptr<const fitted_state> /*state*/) const override {
    return std::make_unique<hash_operator>(terms());
  }

  made_rows apply(const given_rows& rows) override {
    made_rows out;
    const std::vector<std::string> names = columns();
    for (size_t i = 0; i < rows.columns.size(); ++i) {
      std::vector<int64_t> numbers(size_t(rows.rows));
      for_each_category(
          *rows.columns[i], [&](int64_t row, std::string_view text) {
            if (text.data() == nullptr)
              refuse_missing({terms().pointer, terms().step(), names[i]},
                             rows.place, row);
            numbers[size_t(row)] = int64_t(category_hash(text) % buckets_);
          });
      out.columns.push_back(int64_array(std::move(numbers)));
    }
    return out;
  }

private:
  const uint64_t buckets_;
};

} // namespace

void refuse_unseen(const cell_owner& owner,
                   const std::vector<std::string>& known,
                   const row_finder& place, int64_t row,
                   std::string_view category) {
  constexpr size_t named_max = 5;
  std::string all;
  for (size_t i = 0; i < known.size() && i < named_max; ++i)
    all += (i == 0 ? "'" : ", '") + printable(known[i], 40) + "'";
  if (known.size() > named_max)
    all += ", ... (" + std::to_string(known.size()) + " in all)";
  throw row_error(
      place(row), owner.column,
      "the category is in no training row of \"" + owner.step +
          "\"; expected one of " + all +
          ", or \"unseen\": \"ignore\" or \"other\" in " + owner.pointer,
      owner.pointer + "/unseen", "it is '" + printable(category, 64) + "'");
}

std::unique_ptr<fitted_operator>
make_category_operator(const fit_terms& terms) {
  switch (terms.what.what) {
  case op::one_hot:
  case op::ordinal:
    return std::make_unique<category_operator>(terms);
  case op::hash_encode:
    return std::make_unique<hash_operator>(terms);
  default:
    return nullptr;
  }
}

} // namespace ballast::data
