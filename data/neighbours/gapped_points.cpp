#include "data/neighbours/gapped_points.hpp"

#include "runtime/base/vectorized.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

namespace ballast::data {

namespace {

using eight_floats = float __attribute__((vector_size(8 * sizeof(float))));
using eight_masks = int32_t __attribute__((vector_size(8 * sizeof(int32_t))));
using mask_words = uint64_t __attribute__((vector_size(4 * sizeof(uint64_t))));

constexpr size_t vector_lanes = 8;
constexpr size_t vectors_of_block = block_width / vector_lanes;
constexpr size_t between_looks = 5;
constexpr double endless_distance = std::numeric_limits<double>::infinity();
/// Further than any point; its square is still a number of float32.
constexpr double out_of_reach = 1e15;

/// What a block is compared with: coordinates by their places in it.
struct gapped_query {
  const uint32_t* coordinates;
  const float* places;
  size_t count;
  float columns;
  float limit;
};

/// Of a block the points whose distance may be within the limit, as a mask.
BALLAST_VECTORIZED_FMA
uint32_t gapped_within(const gapped_query& query, const float* places,
                       const float* there) {
  eight_floats sums[vectors_of_block] = {};
  eight_floats counts[vectors_of_block] = {};
  const float most = query.limit * float(query.count);
  for (size_t i = 0; i < query.count;) {
    const size_t end =
        i + between_looks < query.count ? i + between_looks : query.count;
    for (; i < end; ++i) {
      const size_t first = query.coordinates[i] * block_width;
      const float at = query.places[i];
      for (size_t v = 0; v < vectors_of_block; ++v) {
        eight_floats x, has;
        std::memcpy(&x, places + first + v * vector_lanes, sizeof x);
        std::memcpy(&has, there + first + v * vector_lanes, sizeof has);
        x = (x - at) * has;
        sums[v] += x * x;
        counts[v] += has;
      }
    }
    eight_masks near = {};
    for (size_t v = 0; v < vectors_of_block; ++v)
      near |= sums[v] * query.columns <= most;
    const mask_words some = (mask_words)near;
    if ((some[0] | some[1] | some[2] | some[3]) == 0)
      return 0;
  }
  uint32_t out = 0;
  for (size_t v = 0; v < vectors_of_block; ++v) {
    const eight_masks near = sums[v] * query.columns <= counts[v] * query.limit;
    for (size_t lane = 0; lane < vector_lanes; ++lane)
      out |= uint32_t(near[lane] != 0) << (v * vector_lanes + lane);
  }
  return out;
}

} // namespace

double gapped_distance(const double* a, const double* b, size_t columns) {
  double sums[4] = {};
  size_t common = 0;
  for (size_t c = 0; c < columns; ++c) {
    const double apart = a[c] - b[c];
    if (std::isnan(apart))
      continue;
    sums[c % 4] += apart * apart;
    ++common;
  }
  if (common == 0)
    return endless_distance;
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) *
         (double(columns) / double(common));
}

gapped_points::gapped_points(std::vector<double> values, size_t columns)
    : values_(std::move(values)), columns_(columns),
      rows_(columns == 0 ? 0 : values_.size() / columns), mean_(columns),
      order_(columns) {
  choose_order();
  fill_blocks();
}

void gapped_points::choose_order() {
  std::vector<double> counts(columns_), squares(columns_);
  for (size_t i = 0; i < values_.size(); ++i)
    if (!std::isnan(values_[i])) {
      // A running mean, as a sum of large values may have no number.
      const size_t c = i % columns_;
      counts[c] += 1;
      mean_[c] += (values_[i] - mean_[c]) / counts[c];
    }
  double most = 0;
  for (size_t i = 0; i < values_.size(); ++i)
    if (!std::isnan(values_[i]))
      most = std::max(most, std::abs(values_[i] - mean_[i % columns_]));
  if (most > 0)
    scale_ = 1 / most;
  for (size_t i = 0; i < values_.size(); ++i) {
    const double x = (values_[i] - mean_[i % columns_]) * scale_;
    squares[i % columns_] += std::isnan(x) ? 0 : x * x;
  }
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
    return squares[a] > squares[b];
  });
}

void gapped_points::fill_blocks() {
  const size_t blocks = (rows_ + block_width - 1) / block_width;
  places_.resize(blocks * columns_ * block_width);
  there_.resize(places_.size());
  for (size_t row = 0; row < rows_; ++row) {
    const size_t first =
        row / block_width * columns_ * block_width + row % block_width;
    for (size_t t = 0; t < columns_; ++t) {
      const size_t c = order_[t];
      const double x = (at(row)[c] - mean_[c]) * scale_;
      if (std::isnan(x))
        continue;
      places_[first + t * block_width] = float(x);
      there_[first + t * block_width] = 1;
    }
  }
}

gapped_search::gapped_search(const gapped_points& among, size_t most)
    : all_(among), most_(most), found_(among.columns()) {}

void gapped_search::look(const double* point) {
  for (const uint32_t c : lacking_)
    found_[c].clear();
  lacking_.clear();
  for (uint32_t c = 0; c < all_.columns(); ++c)
    if (std::isnan(point[c]))
      lacking_.push_back(c);
  if (lacking_.empty())
    return;
  choose_coordinates(point);
  if (coordinates_.empty())
    return;
  set_limit();
  const size_t stride = all_.columns() * block_width;
  for (size_t block = 0; block * block_width < all_.rows(); ++block) {
    const gapped_query query{.coordinates = coordinates_.data(),
                             .places = places_.data(),
                             .count = coordinates_.size(),
                             .columns = float(all_.columns()),
                             .limit = limit_};
    uint32_t near = gapped_within(query, all_.places_.data() + block * stride,
                                  all_.there_.data() + block * stride);
    for (; near != 0; near &= near - 1) {
      const size_t row = block * block_width + size_t(std::countr_zero(near));
      if (row < all_.rows())
        compare(point, uint32_t(row));
    }
  }
}

void gapped_search::choose_coordinates(const double* point) {
  coordinates_.clear();
  places_.clear();
  furthest_ = 0;
  for (uint32_t t = 0; t < all_.columns(); ++t) {
    const size_t c = all_.order_[t];
    if (std::isnan(point[c]))
      continue;
    // What is brought nearer is looked at rather more often than needed.
    const double x = std::clamp((point[c] - all_.mean_[c]) * all_.scale_,
                                -out_of_reach, out_of_reach);
    coordinates_.push_back(t);
    places_.push_back(float(x));
    furthest_ = std::max(furthest_, std::abs(x));
  }
}

/// With coordinates of the points of at most 1, rounded to float32, the
/// difference of two is off by `off` at most. Of n coordinates, of which two
/// points have some, whose distance by the definition is sqrt(L): the sum of
/// the squares of the rounded differences, times p columns over those in
/// common, is L + 2 off sqrt(n p L) + off^2 n p at most; and computed, that
/// times 1 + relative.
void gapped_search::set_limit() {
  double last = 0;
  for (const uint32_t c : lacking_)
    last = std::max(last, found_[c].size() < most_ ? endless_distance
                                                   : found_[c].back().squared);
  constexpr double rounding = 0x1p-24;
  const double n = double(coordinates_.size()), p = double(all_.columns());
  const double off = 1.01 * rounding * (1 + furthest_) + 1e-14;
  const double relative = 1.01 * (n + 8) * rounding;
  // In two steps, as the square of the scale may have no number.
  const double distance = std::sqrt(last) * all_.scale_;
  const double most = distance * distance +
                      2 * off * std::sqrt(n * p) * distance + off * off * n * p;
  limit_ = float(std::min(most * (1 + relative) * (1 + 4 * rounding) + 1e-30,
                          double(std::numeric_limits<float>::max()) / (2 * p)));
}

void gapped_search::compare(const double* point, uint32_t row) {
  const double* other = all_.at(row);
  const double squared = gapped_distance(point, other, all_.columns());
  if (squared == endless_distance)
    return;
  const neighbour one{squared, row};
  bool changed = false;
  for (const uint32_t c : lacking_) {
    if (std::isnan(other[c]))
      continue;
    std::vector<neighbour>& list = found_[c];
    if (list.size() == most_ && !(one < list.back()))
      continue;
    list.insert(std::upper_bound(list.begin(), list.end(), one), one);
    if (list.size() > most_)
      list.pop_back();
    changed = changed || list.size() == most_;
  }
  if (changed)
    set_limit();
}

} // namespace ballast::data
