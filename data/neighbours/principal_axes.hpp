/// Directions in which points spread most. Pure functions.
#pragma once

#include "data/neighbours/point_view.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace ballast::data {

/// Sums of (x - mean)(x - mean)' over these rows, each x - mean scaled before:
/// columns x columns, symmetric.
std::vector<double> second_moments(const point_view& points,
                                   std::span<const uint32_t> rows,
                                   std::span<const double> mean, double scale);

/// The eigenvectors of a symmetric matrix as columns, that of the largest
/// eigenvalue first: an orthogonal matrix to rounding, whatever comes in.
std::vector<double> principal_axes(std::vector<double> symmetric, size_t size);

} // namespace ballast::data
