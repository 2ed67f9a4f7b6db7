#include "data/neighbours/nearest.hpp"

#include <algorithm>
#include <utility>

namespace ballast::data {

namespace {

/// What the search has found, to the places of the queries.
void take(const block_search& from, const query_group& group,
          neighbour_table& out) {
  for (size_t q = 0; q < group.rows.size(); ++q)
    std::ranges::copy(from.found(q),
                      out.all.begin() + long(group.places[q] * out.most));
}

} // namespace

neighbour_table nearest(const class_index& index,
                        std::span<const uint32_t> queries,
                        std::span<const uint32_t> among, size_t most,
                        const work_terms& how, gone_rows gone) {
  return nearest_before(index, queries, {}, among, most, how, gone);
}

neighbour_table nearest_before(const class_index& index,
                               std::span<const uint32_t> queries,
                               std::span<const neighbour> bounds,
                               std::span<const uint32_t> among, size_t most,
                               const work_terms& how, gone_rows gone) {
  neighbour_table out{most, {}};
  out.all.assign(queries.size() * most, nobody);
  const std::vector<query_group> groups = index.grouped(queries);
  parallel_work(groups.size(), how, [&](size_t i) {
    const query_group& group = groups[i];
    block_search search(index, most, gone);
    search.begin(group);
    for (size_t q = 0; !bounds.empty() && q < group.rows.size(); ++q)
      search.look_before(q, bounds[group.places[q]]);
    // The own class first: it is the one around the queries.
    if (std::ranges::find(among, group.of_class) != among.end())
      search.look_into(group.of_class);
    for (const uint32_t one : among)
      if (one != group.of_class)
        search.look_into(one);
    take(search, group, out);
  });
  return out;
}

namespace {

/// The furthest rows of some queries, most of which are in a few blocks at the
/// edge.
class edge_search {
public:
  edge_search(const class_index& index, const query_group& group,
              uint32_t of_class, size_t most)
      : index_(index), group_(group), blocks_(index.blocks_of(of_class)),
        most_(most), lists_(group.rows.size()) {
    const size_t dimensions = index.space().dimensions();
    std::vector<float> place(dimensions * block_width);
    low_.assign(dimensions, 2);
    high_.assign(dimensions, -2); // no norm is above 1
    for (const uint32_t row : group.rows) {
      index.place_of(row, place.data());
      for (size_t t = 0; t < dimensions; ++t) {
        low_[t] = std::min(low_[t], place[t * block_width]);
        high_[t] = std::max(high_[t], place[t * block_width]);
      }
    }
  }

  void run() {
    std::vector<std::pair<float, uint32_t>> order;
    for (size_t g = 0; g < blocks_.groups(); ++g) {
      float reach[group_width];
      const box_group boxes = blocks_.boxes_of_group(g);
      box_reaches(low_.data(), high_.data(), boxes.low, boxes.high, low_.size(),
                  reach);
      for (size_t i = 0; i < group_width; ++i)
        if (g * group_width + i < blocks_.blocks())
          order.emplace_back(-reach[i], uint32_t(g * group_width + i));
    }
    std::sort(order.begin(), order.end());
    for (const auto& [reach, block] : order) {
      if (beyond(-reach))
        break;
      look_into(block);
    }
  }

  void take(neighbour_table& out) const {
    for (size_t q = 0; q < lists_.size(); ++q)
      std::ranges::copy(lists_[q],
                        out.all.begin() + long(group_.places[q] * most_));
  }

private:
  /// No point of a box that reaches so far, as computed in float32, is among
  /// the furthest of any query.
  bool beyond(float reach) const {
    for (const std::vector<neighbour>& list : lists_) {
      if (list.size() < most_ ||
          reach >= index_.space().at_least(list.back().squared))
        return false;
    }
    return true;
  }

  void look_into(uint32_t block) {
    const point_view& points = index_.points();
    for (size_t q = 0; q < lists_.size(); ++q)
      for (size_t i = 0; i < block_width; ++i) {
        const uint32_t row = blocks_.rows_of(block)[i];
        if (row == no_row)
          continue;
        const neighbour one{squared_distance(points.at(group_.rows[q]),
                                             points.at(row), points.columns),
                            row};
        std::vector<neighbour>& list = lists_[q];
        const auto at =
            std::upper_bound(list.begin(), list.end(), one,
                             [](const neighbour& a, const neighbour& b) {
                               return a.squared > b.squared ||
                                      (a.squared == b.squared && a.row < b.row);
                             });
        if (at == list.end() && list.size() == most_)
          continue;
        list.insert(at, one);
        if (list.size() > most_)
          list.pop_back();
      }
  }

  const class_index& index_;
  const query_group& group_;
  const point_blocks& blocks_;
  const size_t most_;
  std::vector<std::vector<neighbour>> lists_;
  std::vector<float> low_, high_;
};

} // namespace

neighbour_table furthest(const class_index& index,
                         std::span<const uint32_t> queries, uint32_t of_class,
                         size_t most, const work_terms& how) {
  neighbour_table out{most, {}};
  out.all.assign(queries.size() * most, nobody);
  const std::vector<query_group> groups = index.grouped(queries);
  parallel_work(groups.size(), how, [&](size_t i) {
    edge_search search(index, groups[i], of_class, most);
    search.run();
    search.take(out);
  });
  return out;
}

} // namespace ballast::data
