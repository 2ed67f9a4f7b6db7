/// How much a row of a class weighs, so that rare classes are used more often.
/// Effective number of rows: Cui, Jia, Lin, Song, Belongie, "Class-Balanced
/// Loss Based on Effective Number of Samples", CVPR 2019, arXiv 1901.05555.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ballast::sampling {

/// Of a row of each class that has `rows` of it: 1 / n; with `beta` in [0, 1)
/// (1 - beta) / (1 - beta^n). A class without rows has 0.
inline std::vector<double> class_weights(std::span<const uint64_t> rows,
                                         std::optional<double> beta) {
  std::vector<double> out;
  out.reserve(rows.size());
  for (uint64_t n : rows) {
    if (n == 0)
      out.push_back(0);
    else if (!beta)
      out.push_back(1 / double(n));
    else if (*beta == 0)
      out.push_back(1);
    else // expm1: the difference from 1 is what counts
      out.push_back((1 - *beta) / -std::expm1(double(n) * std::log(*beta)));
  }
  return out;
}

/// Of a row of each class in the loss: rows / (classes * rows of the class), as
/// scikit-learn's compute_class_weight("balanced"): all classes weigh alike
/// together, and a row 1 on average. A class without rows has 0 and is not
/// counted.
inline std::vector<double>
balanced_class_weights(std::span<const uint64_t> rows) {
  double all = 0, classes = 0;
  for (uint64_t n : rows) {
    all += double(n);
    classes += n > 0;
  }
  std::vector<double> out;
  out.reserve(rows.size());
  for (uint64_t n : rows)
    out.push_back(n == 0 ? 0 : all / (classes * double(n)));
  return out;
}

} // namespace ballast::sampling
