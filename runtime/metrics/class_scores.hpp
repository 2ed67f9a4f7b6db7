/// Precision, recall and F1 from counts by class, with the conventions of
/// scikit-learn (zero_division=0): the precision of a class that is never said
/// is 0. Of a class without rows nothing can be found: there its recall and F1
/// are undefined, and a mean counts 0 if the class is said all the same, and
/// leaves it out else. Pure value.
#pragma once

#include "runtime/metrics/metric_catalogue.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ballast::metrics {

struct class_scores {
  enum class average : uint8_t { macro, weighted };

  std::span<const uint64_t> actual;    // rows of each class
  std::span<const uint64_t> predicted; // rows said to be of it
  std::span<const uint64_t> hits;      // both

  uint64_t hits_of_all() const;
  uint64_t most_rows() const;
  /// Mean recall of the classes that have rows.
  double balanced_accuracy() const;
  /// `what`: precision, recall or f1. NaN: undefined.
  double of_class(metric what, size_t one) const;
  std::vector<double> by_class(metric what) const;
  double mean_of(metric what, average how) const;
  /// Why some of by_class() are undefined; empty: none is.
  std::string undefined(metric what) const;
};

/// "class 3 has no rows in the test part", of some classes.
std::string without_rows(std::span<const size_t> classes);

} // namespace ballast::metrics
