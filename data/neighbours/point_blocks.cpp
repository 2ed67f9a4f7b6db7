#include "data/neighbours/point_blocks.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace ballast::data {

namespace {

/// Where a block is not full: further than any point, and its square is still
/// a number of float32.
constexpr float nowhere = 1e15F;
constexpr size_t rows_looked_at = 64;

} // namespace

point_blocks::point_blocks(const rotated_space& space, const point_view& points,
                           std::vector<uint32_t> rows, const work_terms& how)
    : dimensions_(space.dimensions()), size_(rows.size()) {
  std::vector<float> places(size_ * dimensions_);
  constexpr size_t piece = 1024;
  parallel_work((size_ + piece - 1) / piece, how, [&](size_t p) {
    std::vector<double> scratch(dimensions_);
    for (size_t i = p * piece; i < std::min((p + 1) * piece, size_); ++i)
      space.place(points.at(rows[i]), places.data() + i * dimensions_,
                  scratch.data());
  });
  std::vector<uint32_t> at(size_);
  for (size_t i = 0; i < size_; ++i)
    at[i] = uint32_t(i);
  order(places, at, how);
  fill(places, at, rows, how);
}

/// Level by level: the halves of a level are independent.
void point_blocks::order(const std::vector<float>& places,
                         std::vector<uint32_t>& at,
                         const work_terms& how) const {
  std::vector<range> level{{0, size_}};
  while (!level.empty()) {
    std::vector<std::vector<range>> halves(level.size());
    parallel_work(level.size(), how, [&](size_t i) {
      split(places, at, level[i], halves[i]);
      // On one level there are enough for all threads: each goes to the end.
      while (level.size() >= 64 && !halves[i].empty()) {
        const range next = halves[i].back();
        halves[i].pop_back();
        split(places, at, next, halves[i]);
      }
    });
    level.clear();
    for (const std::vector<range>& some : halves)
      level.insert(level.end(), some.begin(), some.end());
  }
}

/// Full blocks, and full groups as long as there are several.
void point_blocks::split(const std::vector<float>& places,
                         std::vector<uint32_t>& at, range what,
                         std::vector<range>& halves) const {
  const size_t count = what.end - what.begin;
  if (count <= block_width)
    return;
  constexpr size_t group = block_width * group_width;
  const size_t unit = count > group ? group : block_width;
  const size_t units = (count + unit - 1) / unit;
  const size_t middle = what.begin + units / 2 * unit;
  const size_t along = widest(places, at, what);
  std::vector<std::pair<float, uint32_t>> keys(count);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t point = at[what.begin + i];
    keys[i] = {places[point * dimensions_ + along], point};
  }
  std::nth_element(keys.begin(), keys.begin() + long(middle - what.begin),
                   keys.end());
  for (size_t i = 0; i < count; ++i)
    at[what.begin + i] = keys[i].second;
  halves.push_back({what.begin, middle});
  halves.push_back({middle, what.end});
}

/// By the variance of some of them.
size_t point_blocks::widest(const std::vector<float>& places,
                            const std::vector<uint32_t>& at, range what) const {
  const size_t step =
      std::max<size_t>(1, (what.end - what.begin) / rows_looked_at);
  std::vector<float> sum(dimensions_), squares(dimensions_);
  size_t count = 0;
  for (size_t i = what.begin; i < what.end; i += step, ++count) {
    const float* point = places.data() + at[i] * dimensions_;
    for (size_t t = 0; t < dimensions_; ++t) {
      sum[t] += point[t];
      squares[t] += point[t] * point[t];
    }
  }
  size_t best = 0;
  float most = -1;
  for (size_t t = 0; t < dimensions_; ++t) {
    const float spread = squares[t] - sum[t] * sum[t] / float(count);
    if (spread > most) {
      most = spread;
      best = t;
    }
  }
  return best;
}

void point_blocks::fill(const std::vector<float>& places,
                        const std::vector<uint32_t>& at,
                        const std::vector<uint32_t>& rows,
                        const work_terms& how) {
  const size_t blocks = (size_ + block_width - 1) / block_width;
  rows_.assign(blocks * block_width, no_row);
  places_.assign(blocks * block_width * dimensions_, nowhere);
  const size_t boxes = groups() * dimensions_ * group_width;
  block_low_.assign(boxes, nowhere);
  block_high_.assign(boxes, nowhere);
  const size_t outer = supers() * dimensions_ * group_width;
  group_low_.assign(outer, nowhere);
  group_high_.assign(outer, nowhere);
  parallel_work(groups(), how, [&](size_t group) {
    const size_t first = group * group_width * block_width;
    const size_t end = std::min(first + group_width * block_width, size_);
    for (size_t i = first; i < end; ++i) {
      rows_[i] = rows[at[i]];
      const size_t base = i / block_width * dimensions_ * block_width;
      const float* from = places.data() + at[i] * dimensions_;
      for (size_t t = 0; t < dimensions_; ++t)
        places_[base + t * block_width + i % block_width] = from[t];
    }
    fill_group(group);
  });
}

void point_blocks::fill_group(size_t group) {
  const size_t first = group * group_width;
  const size_t end = std::min(first + group_width, blocks());
  const size_t to_group =
      group / group_width * dimensions_ * group_width + group % group_width;
  for (size_t t = 0; t < dimensions_; ++t) {
    float group_low = nowhere, group_high = -nowhere;
    for (size_t b = first; b < end; ++b) {
      const float* points = block(b) + t * block_width;
      const size_t count = std::min(block_width, size_ - b * block_width);
      const auto [low, high] = std::minmax_element(points, points + count);
      const size_t to = (group * dimensions_ + t) * group_width + b - first;
      block_low_[to] = *low;
      block_high_[to] = *high;
      group_low = std::min(group_low, *low);
      group_high = std::max(group_high, *high);
    }
    group_low_[to_group + t * group_width] = group_low;
    group_high_[to_group + t * group_width] = group_high;
  }
}

} // namespace ballast::data
