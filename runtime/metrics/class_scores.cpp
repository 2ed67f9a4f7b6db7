#include "runtime/metrics/class_scores.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ballast::metrics {

namespace {

constexpr size_t classes_named_max = 5;

/// 0 of a class without rows that is said all the same; NaN of one that is
/// neither.
double counted(const class_scores& in, metric what, size_t one) {
  const double actual = double(in.actual[one]);
  const double predicted = double(in.predicted[one]);
  const double hits = double(in.hits[one]);
  if (actual + predicted == 0)
    return std::numeric_limits<double>::quiet_NaN();
  if (what == metric::precision)
    return predicted > 0 ? hits / predicted : 0;
  if (what == metric::recall)
    return actual > 0 ? hits / actual : 0;
  return 2 * hits / (actual + predicted);
}

} // namespace

uint64_t class_scores::hits_of_all() const {
  return std::accumulate(hits.begin(), hits.end(), uint64_t{0});
}

uint64_t class_scores::most_rows() const {
  return *std::max_element(actual.begin(), actual.end());
}

double class_scores::balanced_accuracy() const {
  double sum = 0;
  double classes = 0;
  for (size_t c = 0; c < actual.size(); ++c)
    if (actual[c] > 0) {
      sum += double(hits[c]) / double(actual[c]);
      classes += 1;
    }
  return sum / classes;
}

double class_scores::of_class(metric what, size_t one) const {
  if (actual[one] == 0 && what != metric::precision)
    return std::numeric_limits<double>::quiet_NaN();
  return counted(*this, what, one);
}

std::vector<double> class_scores::by_class(metric what) const {
  std::vector<double> out;
  for (size_t c = 0; c < actual.size(); ++c)
    out.push_back(of_class(what, c));
  return out;
}

double class_scores::mean_of(metric what, average how) const {
  double sum = 0;
  double weights = 0;
  for (size_t c = 0; c < actual.size(); ++c) {
    const double found = counted(*this, what, c);
    if (std::isnan(found))
      continue;
    const double weight = how == average::macro ? 1 : double(actual[c]);
    sum += weight * found;
    weights += weight;
  }
  return sum / weights;
}

std::string class_scores::undefined(metric what) const {
  std::vector<size_t> lacking;
  for (size_t c = 0; c < actual.size(); ++c)
    if (std::isnan(of_class(what, c)))
      lacking.push_back(c);
  return without_rows(lacking);
}

std::string without_rows(std::span<const size_t> classes) {
  if (classes.empty())
    return {};
  std::string out = classes.size() == 1 ? "class " : "classes ";
  const size_t named = std::min(classes.size(), classes_named_max);
  for (size_t i = 0; i < named; ++i)
    out += (i == 0                    ? ""
            : i + 1 == classes.size() ? " and "
                                      : ", ") +
           std::to_string(classes[i]);
  if (named < classes.size())
    out += " and " + std::to_string(classes.size() - named) + " more";
  return out + (classes.size() == 1 ? " has" : " have") +
         " no rows in the test part";
}

} // namespace ballast::metrics
