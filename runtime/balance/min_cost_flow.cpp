#include "runtime/balance/min_cost_flow.hpp"

#include <lemon/network_simplex.h>
#include <lemon/smart_graph.h>

namespace ballast::balance {

std::optional<flow> min_cost_flow(const flow_problem& what) {
  lemon::SmartDigraph graph;
  graph.reserveNode(int(what.supply.size()));
  graph.reserveArc(int(what.arcs.size()));
  for (size_t node = 0; node < what.supply.size(); ++node)
    graph.addNode();
  lemon::SmartDigraph::NodeMap<int64_t> supply(graph);
  lemon::SmartDigraph::ArcMap<int64_t> capacity(graph);
  lemon::SmartDigraph::ArcMap<int64_t> cost(graph);
  for (size_t node = 0; node < what.supply.size(); ++node)
    supply[graph.nodeFromId(int(node))] = what.supply[node];
  for (const flow_arc& arc : what.arcs) {
    auto added = graph.addArc(graph.nodeFromId(int(arc.from)),
                              graph.nodeFromId(int(arc.to)));
    capacity[added] = arc.capacity;
    cost[added] = arc.cost;
  }
  using solver = lemon::NetworkSimplex<lemon::SmartDigraph, int64_t, int64_t>;
  solver simplex(graph);
  simplex.upperMap(capacity).costMap(cost).supplyMap(supply);
  if (simplex.run() != solver::OPTIMAL)
    return std::nullopt;
  flow out;
  for (size_t arc = 0; arc < what.arcs.size(); ++arc)
    out.units.push_back(simplex.flow(graph.arcFromId(int(arc))));
  for (size_t node = 0; node < what.supply.size(); ++node)
    out.prices.push_back(simplex.potential(graph.nodeFromId(int(node))));
  return out;
}

} // namespace ballast::balance
