#include "data/profile/pair_sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace ballast::data {

namespace {

constexpr size_t lanes = 8;

/// Side by side, so that the loop is one of vectors, in a fixed order.
template <class Term>
double sum_of(size_t count, const Term& term) {
  std::array<double, lanes> sums{};
  size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (size_t k = 0; k < lanes; ++k)
      sums[k] += term(i + k);
  for (; i < count; ++i)
    sums[0] += term(i);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
         ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/// Rows that are worked on at a time stay in the cache.
constexpr size_t rows_at_once = 2048;

struct shifted {
  std::vector<double> values; // 0 where there is none
  std::vector<double> there;  // 1 or 0
  bool whole = true;          // no value is missing
  double sum = 0;
  double squares = 0;
};

shifted shifted_of(const std::vector<double>& values, size_t begin, size_t end,
                   double shift) {
  shifted out;
  out.values.resize(end - begin);
  out.there.resize(end - begin);
  for (size_t i = begin; i < end; ++i) {
    const bool there = !std::isnan(values[i]);
    out.values[i - begin] = there ? values[i] - shift : 0;
    out.there[i - begin] = there ? 1 : 0;
    out.whole = out.whole && there;
  }
  const double* v = out.values.data();
  out.sum = sum_of(out.values.size(), [v](size_t i) { return v[i]; });
  out.squares =
      sum_of(out.values.size(), [v](size_t i) { return v[i] * v[i]; });
  return out;
}

} // namespace

pair_sums::pair_sums(std::vector<double> shifts)
    : shifts_(std::move(shifts)),
      pairs_(shifts_.size() * (shifts_.size() + 1) / 2) {}

size_t pair_sums::index(size_t a, size_t b) const {
  if (a > b)
    std::swap(a, b);
  return b * (b + 1) / 2 + a;
}

void pair_sums::add(const columns& values) {
  const size_t rows = values.empty() ? 0 : values[0].size();
  std::vector<shifted> all(values.size());
  for (size_t begin = 0; begin < rows; begin += rows_at_once) {
    const size_t end = std::min(rows, begin + rows_at_once);
    const size_t count = end - begin;
    for (size_t c = 0; c < values.size(); ++c)
      all[c] = shifted_of(values[c], begin, end, shifts_[c]);
    for (size_t b = 0; b < all.size(); ++b)
      for (size_t a = 0; a <= b; ++a) {
        sums& to = pairs_[index(a, b)];
        const double* va = all[a].values.data();
        const double* vb = all[b].values.data();
        to.ab += sum_of(count, [va, vb](size_t i) { return va[i] * vb[i]; });
        if (all[a].whole && all[b].whole) {
          to.rows += count;
          to.a += all[a].sum;
          to.b += all[b].sum;
          to.aa += all[a].squares;
          to.bb += all[b].squares;
          continue;
        }
        const double* ha = all[a].there.data();
        const double* hb = all[b].there.data();
        to.rows += uint64_t(
            sum_of(count, [ha, hb](size_t i) { return ha[i] * hb[i]; }));
        to.a += sum_of(count, [va, hb](size_t i) { return va[i] * hb[i]; });
        to.b += sum_of(count, [vb, ha](size_t i) { return vb[i] * ha[i]; });
        to.aa +=
            sum_of(count, [va, hb](size_t i) { return va[i] * va[i] * hb[i]; });
        to.bb +=
            sum_of(count, [vb, ha](size_t i) { return vb[i] * vb[i] * ha[i]; });
      }
  }
}

void pair_sums::merge(const pair_sums& later) {
  for (size_t i = 0; i < pairs_.size(); ++i) {
    pairs_[i].rows += later.pairs_[i].rows;
    pairs_[i].a += later.pairs_[i].a;
    pairs_[i].b += later.pairs_[i].b;
    pairs_[i].aa += later.pairs_[i].aa;
    pairs_[i].bb += later.pairs_[i].bb;
    pairs_[i].ab += later.pairs_[i].ab;
  }
}

std::optional<double> pair_sums::correlation(size_t a, size_t b) const {
  const sums& of = pairs_[index(a, b)];
  if (of.rows < 2)
    return std::nullopt;
  const auto n = double(of.rows);
  const double var_a = of.aa - of.a * of.a / n;
  const double var_b = of.bb - of.b * of.b / n;
  // What is left of equal values by rounding is no spread.
  constexpr double rounding = 1e-13;
  if (var_a <= rounding * of.aa || var_b <= rounding * of.bb)
    return std::nullopt;
  return std::clamp((of.ab - of.a * of.b / n) / std::sqrt(var_a * var_b), -1.0,
                    1.0);
}

uint64_t pair_sums::rows(size_t a, size_t b) const {
  return pairs_[index(a, b)].rows;
}

} // namespace ballast::data
