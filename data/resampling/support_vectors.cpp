#include "data/resampling/support_vectors.hpp"

#include "runtime/base/errors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace ballast::data {

namespace {

/// Rows of the kernel, of which the last used ones are kept.
class kernel_rows {
public:
  kernel_rows(const point_view& points, std::span<const uint32_t> rows,
              const support_terms& terms)
      : points_(points), rows_(rows), gamma_(terms.gamma),
        slot_of_(rows.size(), none) {
    const size_t fit = terms.cache_bytes / (rows.size() * sizeof(float));
    slots_.resize(std::clamp<size_t>(fit, 2, std::max<size_t>(2, rows.size())));
  }

  /// Stays until two other rows were asked for.
  const float* of(size_t row) {
    if (slot_of_[row] == none)
      compute(row);
    slot& one = slots_[slot_of_[row]];
    one.used = ++clock_;
    return one.values.data();
  }

private:
  static constexpr uint32_t none = UINT32_MAX;
  struct slot {
    std::vector<float> values;
    uint32_t row = none;
    uint64_t used = 0;
  };

  void compute(size_t row) {
    const auto oldest = std::ranges::min_element(slots_, {}, &slot::used);
    if (oldest->row != none)
      slot_of_[oldest->row] = none;
    oldest->row = uint32_t(row);
    slot_of_[row] = uint32_t(oldest - slots_.begin());
    oldest->values.resize(rows_.size());
    const double* from = points_.at(rows_[row]);
    for (size_t i = 0; i < rows_.size(); ++i)
      oldest->values[i] =
          float(std::exp(-gamma_ * squared_distance(from, points_.at(rows_[i]),
                                                    points_.columns)));
  }

  const point_view points_;
  const std::span<const uint32_t> rows_;
  const double gamma_;
  std::vector<uint32_t> slot_of_; // by row
  std::vector<slot> slots_;
  uint64_t clock_ = 0;
};

/// minimizes a'Qa / 2 - sum a, with 0 <= a <= C and y'a = 0, where Q is the
/// kernel times the signs y of both rows.
class border_solver {
public:
  border_solver(const point_view& points, std::span<const uint32_t> rows,
                size_t first, const support_terms& terms)
      : terms_(terms), kernel_(points, rows, terms), sign_(rows.size(), -1.0),
        weight_(rows.size()), gradient_(rows.size(), -1.0) {
    std::fill_n(sign_.begin(), first, 1.0);
  }

  void run(const store::work_watch& stop) {
    const size_t most = std::max<size_t>(10'000'000, 100 * sign_.size());
    constexpr size_t between_looks = 64;
    for (size_t round = 0; round < most; ++round) {
      if (round % between_looks == 0)
        store::check_stop(stop);
      const auto pair = chosen();
      if (!pair)
        return;
      move(pair->first, pair->second);
    }
    throw ballast_error(errc::invalid_data,
                        "svm_smote: no border between the classes after " +
                            std::to_string(most) +
                            " steps; take a smaller C, or scale the columns");
  }

  bool supports(size_t row) const { return weight_[row] > 0; }

private:
  bool may_grow(size_t i) const {
    return sign_[i] > 0 ? weight_[i] < terms_.c : weight_[i] > 0;
  }
  bool may_shrink(size_t i) const {
    return sign_[i] > 0 ? weight_[i] > 0 : weight_[i] < terms_.c;
  }

  /// The two rows that violate the conditions most: the first by the gradient,
  /// the second by what both together gain. Nothing: none does.
  std::optional<std::pair<size_t, size_t>> chosen() {
    constexpr double endless = std::numeric_limits<double>::infinity();
    const size_t count = sign_.size();
    double up = -endless, low = -endless;
    size_t i = count;
    for (size_t t = 0; t < count; ++t)
      if (may_grow(t) && -sign_[t] * gradient_[t] >= up) {
        up = -sign_[t] * gradient_[t];
        i = t;
      }
    if (i == count)
      return std::nullopt;
    const float* row = kernel_.of(i);
    double best = endless;
    size_t j = count;
    for (size_t t = 0; t < count; ++t) {
      if (!may_shrink(t))
        continue;
      const double slope = sign_[t] * gradient_[t];
      low = std::max(low, slope);
      const double apart = up + slope;
      if (apart <= 0)
        continue;
      const double gain = -apart * apart / curvature(row[t]);
      if (gain <= best) {
        best = gain;
        j = t;
      }
    }
    if (j == count || up + low < terms_.tolerance)
      return std::nullopt;
    return std::pair(i, j);
  }

  /// Of the kernel of a row with itself, which is 1, and of two.
  static double curvature(float both) {
    constexpr double least = 1e-12;
    const double out = 2 - 2 * double(both);
    return out > 0 ? out : least;
  }

  void move(size_t i, size_t j) {
    const float* of_i = kernel_.of(i);
    const float* of_j = kernel_.of(j);
    const double before_i = weight_[i], before_j = weight_[j];
    // Along y'a = 0, as far as both stay within [0, C].
    const double wanted = (-sign_[i] * gradient_[i] + sign_[j] * gradient_[j]) /
                          curvature(of_i[j]);
    const double room_i = sign_[i] > 0 ? terms_.c - before_i : before_i;
    const double room_j = sign_[j] > 0 ? before_j : terms_.c - before_j;
    const double step = std::min({wanted, room_i, room_j});
    // What comes to a bound is just there.
    weight_[i] = step == room_i ? (sign_[i] > 0 ? terms_.c : 0)
                                : before_i + sign_[i] * step;
    weight_[j] = step == room_j ? (sign_[j] > 0 ? 0 : terms_.c)
                                : before_j - sign_[j] * step;
    const double moved_i = sign_[i] * (weight_[i] - before_i);
    const double moved_j = sign_[j] * (weight_[j] - before_j);
    for (size_t t = 0; t < sign_.size(); ++t)
      gradient_[t] +=
          sign_[t] * (double(of_i[t]) * moved_i + double(of_j[t]) * moved_j);
  }

  const support_terms terms_;
  kernel_rows kernel_;
  std::vector<double> sign_;
  std::vector<double> weight_;   // a
  std::vector<double> gradient_; // Qa - 1
};

} // namespace

std::vector<uint32_t> support_vectors(const point_view& points,
                                      std::span<const uint32_t> rows,
                                      size_t first, const support_terms& terms,
                                      const store::work_watch& stop) {
  border_solver solver(points, rows, first, terms);
  solver.run(stop);
  std::vector<uint32_t> out;
  for (size_t i = 0; i < rows.size(); ++i)
    if (solver.supports(i))
      out.push_back(rows[i]);
  return out;
}

double usual_gamma(const point_view& points) {
  const size_t all = points.rows * points.columns;
  double mean = 0, squares = 0;
  for (size_t i = 0; i < all; ++i)
    mean += points.values[i] / double(all);
  for (size_t i = 0; i < all; ++i)
    squares += (points.values[i] - mean) * (points.values[i] - mean);
  const double variance = squares / double(all);
  return variance > 0 ? 1 / (double(points.columns) * variance) : 1;
}

} // namespace ballast::data
