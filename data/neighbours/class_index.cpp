#include "data/neighbours/class_index.hpp"

#include <algorithm>
#include <utility>

namespace ballast::data {

class_index::class_index(const point_view& points,
                         std::span<const uint32_t> of_row, uint32_t classes,
                         std::vector<bool> used, const work_terms& how)
    : points_(points), of_row_(of_row), blocks_(classes),
      place_(points.rows, no_row) {
  std::vector<std::vector<uint32_t>> rows(classes);
  std::vector<uint32_t> all;
  for (uint32_t row = 0; row < points.rows; ++row)
    if (used[of_row[row]]) {
      rows[of_row[row]].push_back(row);
      all.push_back(row);
    }
  space_.emplace(points_, all, how);
  for (uint32_t c = 0; c < classes; ++c) {
    if (rows[c].empty())
      continue;
    blocks_[c].emplace(*space_, points_, std::move(rows[c]), how);
    const std::span<const uint32_t> order = blocks_[c]->rows();
    for (size_t i = 0; i < order.size(); ++i)
      place_[order[i]] = uint32_t(i);
  }
}

std::vector<uint32_t> class_index::all() const {
  std::vector<uint32_t> out;
  for (uint32_t c = 0; c < classes(); ++c)
    if (has(c))
      out.push_back(c);
  return out;
}

std::vector<query_group>
class_index::grouped(std::span<const uint32_t> rows) const {
  struct asked {
    uint32_t of_class, place, number;
  };
  std::vector<asked> order;
  order.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i)
    order.push_back({of_row_[rows[i]], place_[rows[i]], uint32_t(i)});
  std::sort(order.begin(), order.end(), [](const asked& a, const asked& b) {
    return std::pair(a.of_class, a.place) < std::pair(b.of_class, b.place);
  });
  std::vector<query_group> out;
  for (const asked& one : order) {
    if (out.empty() || out.back().rows.size() == block_width ||
        out.back().of_class != one.of_class)
      out.push_back({.of_class = one.of_class, .rows = {}, .places = {}});
    out.back().rows.push_back(rows[one.number]);
    out.back().places.push_back(one.number);
  }
  return out;
}

void class_index::place_of(uint32_t row, float* out) const {
  const point_blocks& blocks = *blocks_[of_row_[row]];
  const float* from =
      blocks.block(place_[row] / block_width) + place_[row] % block_width;
  for (size_t t = 0; t < space_->dimensions(); ++t)
    out[t * block_width] = from[t * block_width];
}

} // namespace ballast::data
