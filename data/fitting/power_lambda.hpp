/// The power that makes values look most like a normal distribution: the
/// transformations of Box and Cox (1964) and of Yeo and Johnson (2000), and the
/// lambda of the largest likelihood, by Brent's method. Pure functions.
#pragma once

#include "data/fitting/quantile_sketch.hpp"
#include "runtime/graph/fitted_words.hpp"

namespace ballast::data {

/// `value` is above 0 for box_cox.
double power_of(graph::power_kind kind, double value, double lambda);
/// Of values of which at least two differ.
double best_lambda(graph::power_kind kind, const ranked_values& values);

struct mean_and_deviation {
  double mean = 0;
  double deviation = 0;
};
mean_and_deviation spread_of(graph::power_kind kind,
                             const ranked_values& values, double lambda);

/// The number that a part `part` of a normal distribution lies below; of 0 <
/// part < 1.
double normal_quantile(double part);

} // namespace ballast::data
