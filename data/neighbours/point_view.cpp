#include "data/neighbours/point_view.hpp"

#include "runtime/base/vectorized.hpp"

#include <cstring>

namespace ballast::data {

namespace {

using four = double __attribute__((vector_size(4 * sizeof(double))));

} // namespace

// Column c goes into sum c mod 4. The file is compiled without contraction to
// fused multiply-add, so that every vector width rounds alike.
BALLAST_VECTORIZED
double squared_distance(const double* a, const double* b, size_t columns) {
  four sums = {0, 0, 0, 0};
  size_t c = 0;
  for (; c + 4 <= columns; c += 4) {
    four x, y;
    std::memcpy(&x, a + c, sizeof(x));
    std::memcpy(&y, b + c, sizeof(y));
    x -= y;
    sums += x * x;
  }
  for (; c < columns; ++c) {
    const double x = a[c] - b[c];
    sums[c % 4] += x * x;
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

} // namespace ballast::data
