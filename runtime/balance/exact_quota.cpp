// The exact quota: the flow of quota_flow.hpp as a graph, for the network
// simplex. A class sends rows directly to a worker up to the fair number, and
// beyond it through the worker's excess node; rows that the worker holds now
// cost 0, others 1. The cheap and direct arcs are used first without further
// constraints, because no other arc is cheaper.
//
// Coverage: every worker's first row of a class passes through a node of the
// class, where the first holders_min rows earn more than all moves can cost. So
// as many workers hold the class as sizes and budgets allow.
#include "runtime/balance/min_cost_flow.hpp"
#include "runtime/balance/moves_bound.hpp"
#include "runtime/balance/quota_flow.hpp"
#include "runtime/base/check.hpp"

#include <algorithm>
#include <optional>

namespace ballast::balance {
namespace {

class quota_graph {
public:
  explicit quota_graph(const quota_problem& p) : p_(p) {
    size_t nodes = 2 * p.classes + 2 * p.workers;
    problem_.supply.assign(nodes, 0);
    int64_t rows = 0;
    for (size_t c = 0; c < p.classes; ++c) {
      problem_.supply[c] = p.of_class[c];
      rows += p.of_class[c];
    }
    for (size_t w = 0; w < p.workers; ++w) {
      problem_.supply[body_node(w)] = -p.sizes[w];
      add(excess_node(w), body_node(w), p.excess_max[w], 0);
    }
    for (size_t c = 0; c < p.classes; ++c) {
      if (p.holders_min[c] > 0) {
        add(c, first_row_node(c), p.holders_min[c], -(rows + 1));
        add(c, first_row_node(c), p.of_class[c], 0);
      }
      for (size_t w = 0; w < p.workers; ++w)
        if (p.sizes[w] > 0)
          add_cell(w, c);
    }
  }

  /// Sets the targets to the optimum.
  void solve(quota_problem& p) const {
    auto found = min_cost_flow(problem_);
    BALLAST_CHECK(found.has_value(), "a quota exists always");
    for (quota_cell& cell : p.cells)
      cell.target = 0;
    for (size_t i = 0; i < cell_of_.size(); ++i)
      if (cell_of_[i] != none)
        p.cells[cell_of_[i]].target += found->units[i];
  }

private:
  static constexpr size_t none = ~size_t{0};

  size_t first_row_node(size_t c) const { return p_.classes + c; }
  size_t excess_node(size_t w) const { return 2 * p_.classes + w; }
  size_t body_node(size_t w) const { return 2 * p_.classes + p_.workers + w; }

  void add(size_t from, size_t to, int64_t capacity, int64_t cost,
           size_t cell = none) {
    if (capacity == 0)
      return;
    problem_.arcs.push_back({uint32_t(from), uint32_t(to), capacity, cost});
    cell_of_.push_back(cell);
  }

  void add_cell(size_t w, size_t c) {
    size_t index = w * p_.classes + c;
    const quota_cell& cell = p_.cells[index];
    int64_t straight_held = std::min(cell.held, cell.fair);
    int64_t straight = cell.fair - straight_held;
    int64_t beyond_held = cell.held - straight_held;
    if (p_.holders_min[c] > 0) {
      // The first row has an arc of its own, to whichever node it would go.
      size_t to = cell.fair > 0 ? body_node(w) : excess_node(w);
      add(first_row_node(c), to, 1, cell.held > 0 ? 0 : 1, index);
      if (straight_held > 0)
        --straight_held;
      else if (straight > 0)
        --straight;
      else if (beyond_held > 0)
        --beyond_held;
    }
    add(c, body_node(w), straight_held, 0, index);
    add(c, body_node(w), straight, 1, index);
    add(c, excess_node(w), beyond_held, 0, index);
    add(c, excess_node(w), std::min(p_.of_class[c], p_.excess_max[w]), 1,
        index);
  }

  const quota_problem& p_;
  flow_problem problem_;
  std::vector<size_t> cell_of_; // by arc
};

} // namespace

quota exact_quota(const quota_request& what) {
  std::optional<uint64_t> bound;
  return budget_search(what).run([&](quota_problem& p) {
    quota_graph(p).solve(p);
    if (!bound)
      bound = whole_rows(prove_moves_bound(what).bound_rows);
    return *bound;
  });
}

} // namespace ballast::balance
