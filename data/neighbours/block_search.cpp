#include "data/neighbours/block_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ballast::data {

namespace {

constexpr float endless = std::numeric_limits<float>::infinity();
constexpr float not_asked = -1;

} // namespace

block_search::block_search(const class_index& index, size_t most,
                           gone_rows gone)
    : index_(index), most_(most), gone_(gone),
      dimensions_(index.space().dimensions()),
      places_(dimensions_ * block_width), low_(dimensions_), high_(dimensions_),
      lists_(most * block_width), squared_(block_width * block_width) {}

void block_search::begin(const query_group& queries) {
  rows_ = queries.rows;
  count_ = rows_.size();
  for (size_t q = 0; q < count_; ++q)
    index_.place_of(rows_[q], places_.data() + q);
  box();
  limits_.fill(not_asked);
  for (size_t q = 0; q < count_; ++q) {
    double norm = 0;
    for (size_t t = 0; t < dimensions_; ++t) {
      const double at = places_[t * block_width + q];
      norm += at * at;
    }
    norms_[q] = std::sqrt(norm);
    bounds_[q] = nobody;
    forget(q);
  }
}

void block_search::box() {
  for (size_t t = 0; t < dimensions_; ++t) {
    const float* at = places_.data() + t * block_width;
    const auto [low, high] = std::minmax_element(at, at + count_);
    low_[t] = *low;
    high_[t] = *high;
  }
}

void block_search::forget(size_t query) {
  known_[query] = 0;
  set_limit(query);
}

void block_search::dismiss(size_t query) {
  limits_[query] = not_asked;
}

void block_search::look_before(size_t query, const neighbour& bound) {
  if (bound < bounds_[query])
    bounds_[query] = bound;
  set_limit(query);
}

void block_search::set_limit(size_t query) {
  const neighbour last = std::min(furthest(query), bounds_[query]);
  limits_[query] = std::isinf(last.squared)
                       ? endless
                       : index_.space().limit(last.squared, norms_[query]);
}

/// Once a block more than once comes by, its points are there already.
bool block_search::offer(size_t query, const neighbour& one) {
  neighbour* list = lists_.data() + query * most_;
  size_t& known = known_[query];
  if (!(one < bounds_[query]) || (known == most_ && !(one < list[most_ - 1])))
    return false;
  size_t at = known;
  while (at > 0 && one < list[at - 1])
    --at;
  if (at > 0 && list[at - 1] == one)
    return false;
  if (known < most_)
    ++known;
  for (size_t i = known - 1; i > at; --i)
    list[i] = list[i - 1];
  list[at] = one;
  if (known == most_)
    set_limit(query);
  return true;
}

float block_search::widest() const {
  return *std::max_element(limits_.begin(), limits_.end());
}

void block_search::look_into(uint32_t of_class, size_t blocks_max) {
  if (index_.has(of_class))
    look_into(index_.blocks_of(of_class), index_.points(), blocks_max);
}

void block_search::look_into(const point_blocks& blocks,
                             const point_view& points, size_t blocks_max) {
  const float limit = widest();
  if (limit < 0)
    return;
  blocks_left_ = blocks_max;
  points_ = points;
  order_.clear();
  for (size_t super = 0; super < blocks.supers(); ++super) {
    float squared[group_width];
    const box_group boxes = blocks.boxes_of_super(super);
    box_distances(low_.data(), high_.data(), boxes.low, boxes.high, dimensions_,
                  squared);
    for (size_t i = 0; i < group_width; ++i) {
      const size_t group = super * group_width + i;
      if (group < blocks.groups() && squared[i] <= limit)
        order_.emplace_back(squared[i], uint32_t(group));
    }
  }
  if (order_.empty())
    return;
  // After the nearest group most of the others are out of reach.
  std::iter_swap(order_.begin(),
                 std::min_element(order_.begin(), order_.end()));
  look_into_group(blocks, order_[0].second);
  const float left = widest();
  const auto end =
      std::remove_if(order_.begin() + 1, order_.end(),
                     [left](const auto& one) { return one.first > left; });
  std::sort(order_.begin() + 1, end);
  for (auto at = order_.begin() + 1; at != end; ++at) {
    if (blocks_left_ == 0 || at->first > widest())
      return;
    look_into_group(blocks, at->second);
  }
}

void block_search::look_into_group(const point_blocks& blocks, size_t group) {
  float squared[group_width];
  const box_group boxes = blocks.boxes_of_group(group);
  box_distances(low_.data(), high_.data(), boxes.low, boxes.high, dimensions_,
                squared);
  uint32_t order[group_width] = {0, 1, 2, 3, 4, 5, 6, 7};
  std::sort(order, order + group_width, [&squared](uint32_t a, uint32_t b) {
    return squared[a] < squared[b];
  });
  for (const uint32_t i : order) {
    const size_t block = group * group_width + i;
    if (blocks_left_ == 0 || squared[i] > widest())
      return;
    if (block < blocks.blocks()) {
      --blocks_left_;
      look_into_block(blocks, block);
    }
  }
}

void block_search::look_into_block(const point_blocks& blocks, size_t block) {
  const box_group boxes = blocks.boxes_of_group(block / group_width);
  const block_pair pair{.dimensions = dimensions_,
                        .queries = places_.data(),
                        .points = blocks.block(block),
                        .low = boxes.low + block % group_width,
                        .high = boxes.high + block % group_width,
                        .limits = limits_.data()};
  const uint32_t* rows = blocks.rows_of(block);
  uint32_t queries = points_within(pair, squared_.data(), masks_.data());
  for (; queries != 0; queries &= queries - 1) {
    const auto q = size_t(std::countr_zero(queries));
    const double* from = index_.points().at(rows_[q]);
    for (uint32_t near = masks_[q]; near != 0; near &= near - 1) {
      const auto i = size_t(std::countr_zero(near));
      const uint32_t row = rows[i];
      if (squared_[q * block_width + i] <= limits_[q] && counts(q, row))
        offer(q,
              {squared_distance(from, points_.at(row), points_.columns), row});
    }
  }
}

bool block_search::counts(size_t query, uint32_t row) const {
  if (row == no_row)
    return false;
  if (points_.values != index_.points().values)
    return true;
  return row != rows_[query] && (gone_.empty() || gone_[row] == 0);
}

} // namespace ballast::data
