/// tf_idf and hash_text: numbers of the tokens of a text.
#include "data/fitting/category_index.hpp"
#include "data/fitting/fitted_operator.hpp"
#include "data/fitting/text_tokens.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace ballast::data {

namespace {

using graph::norm_kind;
using graph::op;
using graph::value_of;

norm_kind norm_of_node(const fit_terms& terms) {
  return *parse_word<norm_kind>(value_of<std::string>(terms.what, "norm"));
}

/// Of one row: the columns that are not 0, in their order.
using row_weights = std::vector<std::pair<size_t, double>>;

/// Equal columns become one, with the sum of their numbers.
void add_up(row_weights& row) {
  std::stable_sort(row.begin(), row.end(), [](const auto& a, const auto& b) {
    return a.first < b.first;
  });
  size_t kept = 0;
  for (size_t i = 0; i < row.size(); ++i)
    if (kept > 0 && row[kept - 1].first == row[i].first)
      row[kept - 1].second += row[i].second;
    else
      row[kept++] = row[i];
  row.resize(kept);
}

void normalise(row_weights& row, norm_kind norm) {
  double sum = 0;
  for (const auto& [column, value] : row)
    sum += norm == norm_kind::l2 ? value * value : std::abs(value);
  if (norm == norm_kind::none || sum == 0)
    return;
  const double by = norm == norm_kind::l2 ? std::sqrt(sum) : sum;
  for (auto& [column, value] : row)
    value /= by;
}

/// Columns that are 0 but where rows say something else.
class weight_columns {
public:
  weight_columns(size_t columns, int64_t rows)
      : columns_(columns, std::vector<double>(size_t(rows))) {}
  void set(int64_t row, const row_weights& weights) {
    for (const auto& [column, value] : weights)
      columns_[column][size_t(row)] = value;
  }
  void move_to(arrow::ArrayVector& out) {
    for (std::vector<double>& one : columns_)
      out.push_back(float64_array(std::move(one)));
  }

private:
  std::vector<std::vector<double>> columns_;
};

class tf_idf_operator final : public fitted_operator {
public:
  explicit tf_idf_operator(const fit_terms& terms)
      : fitted_operator(terms), norm_(norm_of_node(terms)),
        use_idf_(value_of<bool>(terms.what, "use_idf")),
        sublinear_(value_of<bool>(terms.what, "sublinear_tf")),
        tokens_(std::make_shared<const text_tokens>(
            token_terms_of(terms.what, terms.pointer))) {}

  fit_needs needs() const override {
    fit_needs out;
    for (const std::string& name : columns())
      out.columns.push_back(
          {.column = name, .kind = value_kind::texts, .tokens = tokens_});
    return out;
  }

  void learn(const learned_facts& facts, fitted_state& into) const override {
    for (size_t i = 0; i < into.columns.size(); ++i)
      learn_column(facts.columns[i].tokens, facts.rows, into.columns[i]);
  }

  bool names_are_learned() const override { return true; }

  std::vector<output_column> layout(const arrow::Schema& input,
                                    const fitted_state& state) const override {
    output_layout out(input);
    for (const learned_column& column : state.columns) {
      std::vector<output_layout::made_column> made;
      for (const std::string& token : column.categories)
        made.emplace_back(column.name + "_" + token, arrow::float64());
      out.replace(column.name, made);
    }
    return out.take(terms().pointer + "/columns");
  }

  std::unique_ptr<bound_operator>
  bind(std::shared_ptr<const fitted_state> state) const override;

  const text_tokens& tokens() const { return *tokens_; }
  norm_kind norm() const { return norm_; }
  bool use_idf() const { return use_idf_; }
  double frequency(double times) const {
    return sublinear_ ? 1 + std::log(times) : times;
  }
  cell_owner owner(const learned_column& column) const {
    return owner_of(column);
  }

private:
  using counted = std::pair<std::string_view, token_counts::count>;

  void learn_column(const token_counts& counts, uint64_t rows,
                    learned_column& into) const {
    std::vector<counted> all;
    const auto least = value_of<uint64_t>(terms().what, "min_df");
    const double most = value_of<double>(terms().what, "max_df") * double(rows);
    for (const auto& [token, count] : counts.all())
      if (count.rows >= least && double(count.rows) <= most)
        all.emplace_back(token, count);
    if (all.empty())
      throw ballast_error(
          errc::invalid_data,
          terms().pointer + ": column '" + printable(into.name) +
              "' has no token that is kept: " + std::to_string(counts.size()) +
              " in the " + std::to_string(rows) + " training rows" +
              (counts.size() > 0 ? "; lower \"min_df\", or raise \"max_df\""
                                 : "; expected words of two letters or more: "
                                   "take analyzer \"characters\", or \"drop\" "
                                   "the column"),
          terms().pointer);
    const size_t found = all.size();
    keep_most_frequent(all);
    if (all.size() < found)
      into.note = "keeps " + std::to_string(all.size()) + " of " +
                  std::to_string(found) +
                  " tokens, those that occur most often (\"max_features\")";
    const double one = value_of<bool>(terms().what, "smooth_idf") ? 1 : 0;
    std::vector<double>& idf = into.numbers["idf"];
    for (const auto& [token, count] : all) {
      into.categories.emplace_back(token);
      idf.push_back(
          std::log((double(rows) + one) / (double(count.rows) + one)) + 1);
    }
  }

  /// In the order of the tokens.
  void keep_most_frequent(std::vector<counted>& all) const {
    const auto most = value_of<uint64_t>(terms().what, "max_features");
    if (all.size() > most) {
      std::sort(all.begin(), all.end(), [](const counted& a, const counted& b) {
        return a.second.times != b.second.times
                   ? a.second.times > b.second.times
                   : a.first < b.first;
      });
      all.resize(most);
    }
    std::sort(all.begin(), all.end(), [](const counted& a, const counted& b) {
      return a.first < b.first;
    });
  }

  const norm_kind norm_;
  const bool use_idf_;
  const bool sublinear_;
  const std::shared_ptr<const text_tokens> tokens_;
};

class bound_tf_idf final : public bound_operator {
public:
  bound_tf_idf(const tf_idf_operator& what,
               std::shared_ptr<const fitted_state> state)
      : what_(what), state_(std::move(state)) {
    for (const learned_column& column : state_->columns)
      indices_.emplace_back(column.categories);
  }

  made_rows apply(const given_rows& rows) override {
    made_rows out;
    for (size_t i = 0; i < rows.columns.size(); ++i) {
      const learned_column& column = state_->columns[i];
      const std::vector<double>& idf = column.numbers.at("idf");
      weight_columns made(column.categories.size(), rows.rows);
      row_weights weights;
      what_.tokens().for_each(
          *rows.columns[i], what_.owner(column), rows.place,
          [&](int64_t row, const std::vector<std::string_view>& tokens) {
            weights.clear();
            for (const std::string_view one : tokens)
              if (const int place = indices_[i].find(one); place >= 0)
                weights.emplace_back(size_t(place), 1);
            add_up(weights);
            for (auto& [place, value] : weights)
              value =
                  what_.frequency(value) * (what_.use_idf() ? idf[place] : 1);
            normalise(weights, what_.norm());
            made.set(row, weights);
          });
      made.move_to(out.columns);
    }
    return out;
  }

private:
  const tf_idf_operator& what_;
  const std::shared_ptr<const fitted_state> state_;
  std::vector<category_index> indices_;
};

std::unique_ptr<bound_operator>
tf_idf_operator::bind(std::shared_ptr<const fitted_state> state) const {
  return std::make_unique<bound_tf_idf>(*this, std::move(state));
}

class hash_text_operator final : public fitted_operator, public bound_operator {
public:
  explicit hash_text_operator(const fit_terms& terms)
      : fitted_operator(terms), norm_(norm_of_node(terms)),
        buckets_(value_of<uint64_t>(terms.what, "buckets")),
        signed_(value_of<bool>(terms.what, "signed")),
        tokens_(token_terms_of(terms.what, terms.pointer)) {}

  fit_needs needs() const override {
    fit_needs out;
    for (const std::string& name : columns())
      out.columns.push_back({.column = name, .kind = value_kind::texts});
    return out;
  }

  std::vector<output_column>
  layout(const arrow::Schema& input,
         const fitted_state& /*state*/) const override {
    output_layout out(input);
    for (const std::string& name : columns()) {
      std::vector<output_layout::made_column> made;
      for (uint64_t bucket = 0; bucket < buckets_; ++bucket)
        made.emplace_back(name + "_" + std::to_string(bucket),
                          arrow::float64());
      out.replace(name, made);
    }
    return out.take(terms().pointer + "/columns");
  }

  std::unique_ptr<bound_operator>
  bind(std::shared_ptr<const fitted_state> /*state*/) const override {
    return std::make_unique<hash_text_operator>(terms());
  }

  made_rows apply(const given_rows& rows) override {
    made_rows out;
    const std::vector<std::string> names = columns();
    for (size_t i = 0; i < rows.columns.size(); ++i) {
      weight_columns made(buckets_, rows.rows);
      row_weights weights;
      tokens_.for_each(
          *rows.columns[i], {terms().pointer, terms().step(), names[i]},
          rows.place,
          [&](int64_t row, const std::vector<std::string_view>& tokens) {
            weights.clear();
            for (const std::string_view one : tokens)
              weights.push_back(weight_of(one));
            add_up(weights);
            normalise(weights, norm_);
            made.set(row, weights);
          });
      made.move_to(out.columns);
    }
    return out;
  }

private:
  /// The sign is of a bit that hardly says which bucket it is.
  std::pair<size_t, double> weight_of(std::string_view token) const {
    const uint64_t hash = category_hash(token);
    return {size_t((hash & UINT32_MAX) % buckets_),
            signed_ && hash >> 63 != 0 ? -1.0 : 1.0};
  }

  const norm_kind norm_;
  const uint64_t buckets_;
  const bool signed_;
  const text_tokens tokens_;
};

} // namespace

std::unique_ptr<fitted_operator> make_text_operator(const fit_terms& terms) {
  switch (terms.what.what) {
  case op::tf_idf:
    return std::make_unique<tf_idf_operator>(terms);
  case op::hash_text:
    return std::make_unique<hash_text_operator>(terms);
  default:
    return nullptr;
  }
}

} // namespace ballast::data
