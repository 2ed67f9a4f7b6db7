/// The fewest vertices of a graph without which it has no edge. Here vertices
/// are workers and edges the connections between them that carry nothing: the
/// cover is whom to go on without. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace ballast::coordinator {

using graph_edge = std::pair<size_t, size_t>;

/// Vertices in ascending order. Those from `dear` on are spared as long as
/// others do; among covers that are alike in that the smallest one, and of
/// equally small ones the one with the lower vertices. Exact where no more than
/// `exact_max` vertices have an edge; else greedy: always the vertex with most
/// edges left.
std::vector<size_t> vertex_cover(std::span<const graph_edge> edges,
                                 size_t dear);
constexpr size_t exact_max = 16;

} // namespace ballast::coordinator
