/// ROC AUC, average precision and quantiles: of the sorted rows, or of
/// histograms with a bound of the error. Ties count half in ROC AUC and are one
/// threshold of average precision, as in scikit-learn. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::metrics {

/// A number and how far it may be off.
struct bounded {
  double value = 0;
  double error_max = 0;
};

/// How well scores tell the rows of a class from the others. Meant only where
/// there are rows of both.
struct class_ranking {
  uint64_t own = 0;
  uint64_t others = 0;
  bounded roc_auc;
  bounded average_precision;
};

/// A row to be sorted; `score` is not negative.
uint64_t ranked_key(double score, bool own);
/// Sorts the keys.
class_ranking rank(std::vector<uint64_t>& keys);
/// Of histograms by ascending score.
class_ranking rank(std::span<const uint64_t> others,
                   std::span<const uint64_t> own);

/// Below which `part` of the numbers lie, between two of them by a straight
/// line. Reorders them. Precondition: there are some.
double quantile(std::span<double> numbers, double part);
/// Of a histogram of errors (score_sketch.hpp).
bounded quantile(std::span<const uint64_t> bins, uint32_t bits, double part);

} // namespace ballast::metrics
