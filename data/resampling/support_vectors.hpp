/// The rows that hold the border between two classes: the support vectors of a
/// classifier with the kernel exp(-gamma |x - y|^2) and soft margin C (Cortes,
/// Vapnik 1995), found by sequential minimal optimization with second order
/// working sets (Fan, Chen, Lin: "Working set selection using second order
/// information for training support vector machines", JMLR 2005).
///
/// Pure function; one thread, the same bits each time. Errors:
/// ballast_error{stopped}, and {invalid_data} if it does not converge.
#pragma once

#include "data/neighbours/point_view.hpp"
#include "store/work_watch.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::data {

struct support_terms {
  double c = 1;
  double gamma = 1;
  double tolerance = 1e-3; // of the conditions of the optimum
  /// For rows of the kernel that are kept; at least two are.
  size_t cache_bytes = size_t{64} << 20;
};

/// Those of `rows`, whose first `first` are of the one class and the others of
/// the other; in their order.
std::vector<uint32_t> support_vectors(const point_view& points,
                                      std::span<const uint32_t> rows,
                                      size_t first, const support_terms& terms,
                                      const store::work_watch& stop);

/// 1 over the columns and the variance of all values; 1 if that is 0.
double usual_gamma(const point_view& points);

} // namespace ballast::data
