#include "runtime/coordinator/vertex_cover.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>

namespace ballast::coordinator {

namespace {

std::vector<size_t> exact_cover(std::span<const graph_edge> edges,
                                const std::vector<size_t>& vertices,
                                size_t dear) {
  auto bit = [&vertices](size_t vertex) { // of the first one from it on
    auto at = std::lower_bound(vertices.begin(), vertices.end(), vertex);
    return uint32_t{1} << (at - vertices.begin());
  };
  const uint32_t dear_ones = ~(bit(dear) - 1);
  std::vector<uint32_t> ends;
  for (auto [one, other] : edges)
    ends.push_back(bit(one) | bit(other));
  uint32_t best = 0;
  auto cost = [dear_ones](uint32_t set) {
    return std::pair(std::popcount(set & dear_ones), std::popcount(set));
  };
  // Which one has the lowest vertex that the other has not.
  auto lower = [](uint32_t a, uint32_t b) {
    const uint32_t differ = a ^ b;
    return differ != 0 && (a & differ & (~differ + 1)) != 0;
  };
  for (uint32_t set = 1; set < uint32_t{1} << vertices.size(); ++set) {
    if (best != 0 && (cost(best) < cost(set) ||
                      (cost(best) == cost(set) && lower(best, set))))
      continue;
    if (std::all_of(ends.begin(), ends.end(),
                    [set](uint32_t pair) { return (set & pair) != 0; }))
      best = set;
  }
  std::vector<size_t> out;
  for (size_t i = 0; i < vertices.size(); ++i)
    if ((best >> i & 1) != 0)
      out.push_back(vertices[i]);
  return out;
}

std::vector<size_t> greedy_cover(std::span<const graph_edge> edges,
                                 size_t dear) {
  std::vector<graph_edge> left(edges.begin(), edges.end());
  std::vector<size_t> out;
  while (!left.empty()) {
    std::map<size_t, size_t> degree;
    bool cheap = false;
    for (auto [one, other] : left)
      for (size_t vertex : {one, other}) {
        ++degree[vertex];
        cheap = cheap || vertex < dear;
      }
    size_t most = left.front().first;
    size_t edges_of_most = 0;
    for (auto [vertex, count] : degree)
      if ((vertex < dear || !cheap) && count > edges_of_most) {
        most = vertex;
        edges_of_most = count;
      }
    out.push_back(most);
    std::erase_if(left, [most](const graph_edge& edge) {
      return edge.first == most || edge.second == most;
    });
  }
  std::sort(out.begin(), out.end());
  return out;
}

} // namespace

std::vector<size_t> vertex_cover(std::span<const graph_edge> edges,
                                 size_t dear) {
  std::vector<size_t> vertices;
  for (auto [one, other] : edges) {
    vertices.push_back(one);
    vertices.push_back(other);
  }
  std::sort(vertices.begin(), vertices.end());
  vertices.erase(std::unique(vertices.begin(), vertices.end()), vertices.end());
  if (vertices.empty())
    return {};
  return vertices.size() <= exact_max ? exact_cover(edges, vertices, dear)
                                      : greedy_cover(edges, dear);
}

} // namespace ballast::coordinator
