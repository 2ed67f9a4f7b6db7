/// Eigenvectors of a small symmetric matrix, by rotations (Jacobi 1846; as in
/// Golub and Van Loan, 8.5). Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace ballast::data {

struct eigen_pairs {
  std::vector<double> values;  // the largest first
  std::vector<double> vectors; // of unit length, one after another
};

/// Of `size` x `size` numbers, row after row. Of each vector the entry of the
/// largest absolute value is above 0, so that there is one result. The vectors
/// are orthogonal to rounding, whatever comes in. Ends once what is beside the
/// diagonal is so small a part of the trace; 0: when it gets no smaller.
eigen_pairs eigen_of(std::vector<double> matrix, size_t size,
                     double enough = 0);

} // namespace ballast::data
