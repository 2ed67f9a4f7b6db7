/// polynomial and pca: what several columns make together.
#include "data/base/symmetric_eigen.hpp"
#include "data/fitting/fitted_operator.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace ballast::data {

namespace {

using graph::op;
using graph::value_of;

/// All columns as checked numbers.
std::vector<number_column> checked(const given_rows& rows,
                                   const fitted_state& state,
                                   const fit_terms& terms) {
  std::vector<number_column> out;
  out.reserve(rows.columns.size());
  for (size_t i = 0; i < rows.columns.size(); ++i) {
    out.emplace_back(rows.columns[i]);
    check_numbers(out.back(),
                  {terms.pointer, terms.step(), state.columns[i].name},
                  rows.place);
  }
  return out;
}

/// A product: how often each column is a factor.
using powers = std::vector<uint64_t>;

class polynomial_operator final : public fitted_operator {
public:
  explicit polynomial_operator(const fit_terms& terms)
      : fitted_operator(terms) {
    const uint64_t degree = value_of<uint64_t>(terms.what, "degree");
    for (uint64_t factors = 2; factors <= degree; ++factors)
      add(factors, 0, powers(columns().size()));
    if (products_.size() > products_max)
      throw ballast_error(errc::invalid_job,
                          terms.pointer + "/degree: there would be more than " +
                              std::to_string(products_max) +
                              " further columns; take a smaller degree, or "
                              "fewer columns",
                          terms.pointer + "/degree");
  }

  const std::vector<powers>& products() const { return products_; }

  fit_needs needs() const override {
    fit_needs out;
    for (const std::string& name : columns())
      out.columns.push_back({.column = name});
    return out;
  }

  std::vector<output_column>
  layout(const arrow::Schema& input,
         const fitted_state& /*state*/) const override {
    output_layout out(input);
    const std::vector<std::string> names = columns();
    for (const powers& one : products_) {
      std::string name;
      for (size_t i = 0; i < one.size(); ++i)
        if (one[i] > 0)
          name += (name.empty() ? "" : " ") + names[i] +
                  (one[i] == 1 ? "" : "^" + std::to_string(one[i]));
      out.append(name, arrow::float64());
    }
    return out.take(terms().pointer + "/columns");
  }

  std::unique_ptr<bound_operator>
  bind(std::shared_ptr<const fitted_state> state) const override;

private:
  static constexpr size_t products_max = 10'000;

  /// Of so many factors, none before `first`; in the order of the columns.
  void add(uint64_t factors, size_t first, powers so_far) {
    if (products_.size() > products_max)
      return;
    if (factors == 0) {
      products_.push_back(std::move(so_far));
      return;
    }
    const bool once = value_of<bool>(terms().what, "interaction_only");
    for (size_t i = first; i < so_far.size(); ++i) {
      powers next = so_far;
      ++next[i];
      add(factors - 1, once ? i + 1 : i, std::move(next));
    }
  }

  std::vector<powers> products_;
};

class bound_polynomial final : public bound_operator {
public:
  bound_polynomial(const polynomial_operator& what,
                   std::shared_ptr<const fitted_state> state)
      : what_(what), state_(std::move(state)) {}

  made_rows apply(const given_rows& rows) override {
    const std::vector<number_column> all =
        checked(rows, *state_, what_.terms());
    made_rows out;
    for (const powers& one : what_.products()) {
      std::vector<double> product(size_t(rows.rows), 1.0);
      for (size_t i = 0; i < one.size(); ++i)
        for (uint64_t k = 0; k < one[i]; ++k)
          for (size_t row = 0; row < product.size(); ++row)
            product[row] *= all[i].values()[row];
      out.columns.push_back(float64_array(std::move(product)));
    }
    return out;
  }

private:
  const polynomial_operator& what_;
  const std::shared_ptr<const fitted_state> state_;
};

std::unique_ptr<bound_operator>
polynomial_operator::bind(std::shared_ptr<const fitted_state> state) const {
  return std::make_unique<bound_polynomial>(*this, std::move(state));
}

class pca_operator final : public fitted_operator {
public:
  explicit pca_operator(const fit_terms& terms)
      : fitted_operator(terms),
        components_(value_of<uint64_t>(terms.what, "components")) {
    const size_t wide = columns().size();
    constexpr size_t columns_max = 512;
    if (components_ > wide || wide > columns_max)
      throw ballast_error(errc::invalid_job,
                          terms.pointer + "/components: there are " +
                              std::to_string(wide) +
                              " columns; expected at most as many components, "
                              "and at most 512 columns",
                          terms.pointer + "/components");
  }

  size_t components() const { return components_; }

  fit_needs needs() const override {
    fit_needs out;
    for (const std::string& name : columns())
      out.columns.push_back({.column = name});
    out.together = true;
    return out;
  }

  void learn(const learned_facts& facts, fitted_state& into) const override {
    if (facts.rows < 2)
      throw ballast_error(errc::invalid_data,
                          terms().pointer + ": \"pca\" needs at least 2 "
                                            "training rows",
                          terms().pointer);
    const size_t wide = into.columns.size();
    std::vector<double> covariance = facts.together.products;
    for (size_t i = 0; i < wide; ++i)
      if (!std::isfinite(facts.together.means[i]) ||
          !std::isfinite(covariance[i * wide + i]))
        refuse_too_large(into.columns[i]);
    for (double& one : covariance)
      one /= double(facts.rows - 1);
    const double total = [&] {
      double sum = 0;
      for (size_t i = 0; i < wide; ++i)
        sum += covariance[i * wide + i];
      return sum;
    }();
    eigen_pairs found = eigen_of(std::move(covariance), wide);
    found.values.resize(components_);
    found.vectors.resize(components_ * wide);
    std::vector<double> part;
    for (double& one : found.values) {
      one = std::max(one, 0.0);
      part.push_back(total > 0 ? one / total : 0);
    }
    into.numbers["mean"] = facts.together.means;
    into.numbers["components"] = std::move(found.vectors);
    into.numbers["variance"] = std::move(found.values);
    into.numbers["variance_part"] = std::move(part);
  }

  std::vector<output_column>
  layout(const arrow::Schema& input,
         const fitted_state& /*state*/) const override {
    output_layout out(input);
    for (const std::string& name : columns())
      out.replace(name, {});
    for (size_t i = 0; i < components_; ++i)
      out.append("pca_" + std::to_string(i + 1), arrow::float64());
    return out.take(terms().pointer + "/columns");
  }

  std::unique_ptr<bound_operator>
  bind(std::shared_ptr<const fitted_state> state) const override;

private:
  const uint64_t components_;
};

class bound_pca final : public bound_operator {
public:
  bound_pca(const pca_operator& what, std::shared_ptr<const fitted_state> state)
      : what_(what), state_(std::move(state)),
        whiten_(value_of<bool>(what_.terms().what, "whiten")) {}

  made_rows apply(const given_rows& rows) override {
    const std::vector<number_column> all =
        checked(rows, *state_, what_.terms());
    const std::vector<double>& means = state_->numbers.at("mean");
    const std::vector<double>& vectors = state_->numbers.at("components");
    const std::vector<double>& variance = state_->numbers.at("variance");
    made_rows out;
    for (size_t k = 0; k < what_.components(); ++k) {
      std::vector<double> made(size_t(rows.rows));
      for (size_t i = 0; i < all.size(); ++i) {
        const double weight = vectors[k * all.size() + i];
        const std::span<const double> values = all[i].values();
        for (size_t row = 0; row < made.size(); ++row)
          made[row] += weight * (values[row] - means[i]);
      }
      const double deviation = std::sqrt(variance[k]);
      if (whiten_ && deviation > 0)
        for (double& one : made)
          one /= deviation;
      out.columns.push_back(float64_array(std::move(made)));
    }
    return out;
  }

private:
  const pca_operator& what_;
  const std::shared_ptr<const fitted_state> state_;
  const bool whiten_;
};

std::unique_ptr<bound_operator>
pca_operator::bind(std::shared_ptr<const fitted_state> state) const {
  return std::make_unique<bound_pca>(*this, std::move(state));
}

} // namespace

std::unique_ptr<fitted_operator> make_several_operator(const fit_terms& terms) {
  switch (terms.what.what) {
  case op::polynomial:
    return std::make_unique<polynomial_operator>(terms);
  case op::pca:
    return std::make_unique<pca_operator>(terms);
  default:
    return nullptr;
  }
}

} // namespace ballast::data
