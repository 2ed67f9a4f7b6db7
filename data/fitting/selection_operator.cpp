/// select_features: the columns that say enough.
#include "data/fitting/fitted_operator.hpp"
#include "data/fitting/mutual_information.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/graph/fitted_words.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace ballast::data {

namespace {

using graph::selection_kind;
using graph::value_of;

class selection_operator final : public fitted_operator, public bound_operator {
public:
  explicit selection_operator(const fit_terms& terms)
      : fitted_operator(terms),
        kind_(*parse_word<selection_kind>(
            value_of<std::string>(terms.what, "method"))),
        target_(value_of<std::string>(terms.what, "target")) {
    const bool needs_none = kind_ == selection_kind::variance;
    const std::vector<std::string> all = columns();
    if (needs_none != target_.empty() ||
        std::find(all.begin(), all.end(), target_) != all.end())
      throw ballast_error(errc::invalid_job,
                          terms.pointer + "/target: " +
                              (needs_none ? "means nothing with method "
                                            "\"variance\"; leave it out"
                                          : "is required with this method, a "
                                            "column that \"columns\" lacks"),
                          terms.pointer + "/target");
  }

  fit_needs needs() const override {
    fit_needs out;
    for (const std::string& name : columns())
      out.columns.push_back({.column = name, .moments = true});
    if (kind_ == selection_kind::variance)
      return out;
    out.target = int(out.columns.size());
    out.together = kind_ == selection_kind::correlation;
    out.classes = kind_ != selection_kind::correlation;
    if (kind_ == selection_kind::mutual_information)
      out.sample_rows = rows_max(out.columns.size());
    out.columns.push_back(
        {.column = target_,
         .kind = out.classes ? value_kind::categories : value_kind::numbers,
         .moments = !out.classes});
    return out;
  }

  void learn(const learned_facts& facts, fitted_state& into) const override {
    const auto threshold = value_of<double>(terms().what, "threshold");
    const uint64_t most = value_of<uint64_t>(terms().what, "count");
    std::vector<size_t> order;
    std::vector<double> scores;
    for (size_t i = 0; i < into.columns.size(); ++i)
      if (!into.columns[i].target) {
        scores.push_back(score_of(facts, i, into.columns[i].name));
        if (facts.sample.rows() > 0 && facts.sample.rows() < facts.rows)
          into.columns[i].note =
              "has a score of " + std::to_string(facts.sample.rows()) + " of " +
              std::to_string(facts.rows) + " training rows, which were drawn";
        into.columns[i].numbers["score"] = {scores.back()};
        into.columns[i].kept = false;
        order.push_back(i);
      }
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    if (most > 0 && order.size() > most)
      order.resize(most);
    bool any = false;
    for (size_t i : order)
      any = (into.columns[i].kept = scores[i] > threshold) || any;
    if (!any)
      throw ballast_error(
          errc::invalid_data,
          terms().pointer + "/threshold: no column has a score above " +
              std::to_string(threshold) + "; the largest is " +
              std::to_string(scores[order.front()]) + ": lower the threshold",
          terms().pointer + "/threshold");
  }

  bool names_are_learned() const override { return true; }

  std::vector<output_column> layout(const arrow::Schema& input,
                                    const fitted_state& state) const override {
    output_layout out(input);
    for (const learned_column& one : state.columns)
      if (!one.kept)
        out.replace(one.name, {});
    return out.take(terms().pointer + "/columns");
  }

  std::unique_ptr<bound_operator>
  bind(std::shared_ptr<const fitted_state> /*state*/) const override {
    return std::make_unique<selection_operator>(terms());
  }

  made_rows apply(const given_rows& /*rows*/) override { return {}; }

private:
  /// Rows that are kept for the scores: all up to the first bound, and never
  /// more than 128 MiB of numbers.
  static uint64_t rows_max(size_t columns) {
    constexpr uint64_t most = 1 << 20, numbers = 1 << 24;
    return std::max<uint64_t>(1, std::min(most, numbers / (columns + 1)));
  }

  double score_of(const learned_facts& facts, size_t column,
                  const std::string& name) const {
    switch (kind_) {
    case selection_kind::variance:
      return facts.columns[column].numbers.variance();
    case selection_kind::correlation:
      return correlation(facts.together, column);
    case selection_kind::mutual_information:
      return mutual_information(facts.sample, column,
                                value_of<uint64_t>(terms().what, "bins"));
    case selection_kind::chi2:
      break;
    }
    return chi2(facts, column, name);
  }

  /// Absolute; of a constant column 0.
  static double correlation(const comoments& of, size_t column) {
    const size_t wide = of.means.size();
    const size_t target = wide - 1;
    const double both = of.products[column * wide + column] *
                        of.products[target * wide + target];
    return both > 0
               ? std::abs(of.products[column * wide + target]) / std::sqrt(both)
               : 0;
  }

  /// Sums by class against those of classes that say nothing.
  double chi2(const learned_facts& facts, size_t column,
              const std::string& name) const {
    if (facts.columns[column].numbers.least < 0)
      throw ballast_error(errc::invalid_data,
                          terms().pointer + "/columns: '" + printable(name) +
                              "' has numbers below 0, which \"chi2\" does not "
                              "take; expected counts or flags",
                          terms().pointer + "/columns");
    double all = 0;
    for (const auto& [word, sums] : facts.classes)
      all += sums.sums[column];
    double out = 0;
    for (const auto& [word, sums] : facts.classes) {
      const double expected = all * double(sums.count) / double(facts.rows);
      const double apart = sums.sums[column] - expected;
      out += expected > 0 ? apart * apart / expected : 0;
    }
    return out;
  }

  const selection_kind kind_;
  const std::string target_;
};

} // namespace

std::unique_ptr<fitted_operator>
make_selection_operator(const fit_terms& terms) {
  if (terms.what.what != graph::op::select_features)
    return nullptr;
  return std::make_unique<selection_operator>(terms);
}

} // namespace ballast::data
