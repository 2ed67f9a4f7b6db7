// The fast path: a primal-dual min-cost flow on the matrix itself. It starts
// with the rows that every worker can keep, at no cost, and then places the
// rest along cheapest paths: mostly one arrival for each row, which is the
// bound. Costs are 0 and 1, so there are few rounds; each is a search over the
// cells and pushes as much as possible (Dinic).
//
// A path alternates between classes and workers: a class gives a row to a
// worker (it arrives, or stays if the worker holds it), a full worker gives up
// a row of another class instead. Each worker has two nodes: `excess` receives
// rows beyond the fair number of their class and passes at most excess_max of
// them on to the other, `body`.
#include "runtime/balance/moves_bound.hpp"
#include "runtime/balance/quota_flow.hpp"

#include <algorithm>
#include <limits>

namespace ballast::balance {
namespace {

constexpr int64_t unlimited = std::numeric_limits<int64_t>::max() / 4;
constexpr int32_t unseen = -1;

/// Capacity for one more row into a cell, or one less out of it.
struct residual {
  int64_t rows = 0; // at this cost
  int32_t cost = 0;
};

residual more(const quota_cell& cell) {
  if (cell.target < cell.held)
    return {
        (cell.target < cell.fair ? std::min(cell.held, cell.fair) : cell.held) -
            cell.target,
        0};
  return {cell.target < cell.fair ? cell.fair - cell.target : unlimited, 1};
}

residual less(const quota_cell& cell) {
  int64_t least = cell.target > cell.fair ? cell.fair : 0;
  if (cell.target > cell.held)
    return {cell.target - std::max(least, cell.held), -1};
  return {cell.target - least, 0};
}

class matrix_flow {
public:
  explicit matrix_flow(quota_problem& p)
      : p_(p), w_(p.workers), c_(p.classes), supply_(p.of_class),
        demand_(p.sizes), excess_(p.workers), potential_(nodes()) {
    for (size_t w = 0; w < w_; ++w)
      for (size_t c = 0; c < c_; ++c) {
        const quota_cell& cell = p_.at(w, c);
        supply_[c] -= cell.target;
        demand_[w] -= cell.target;
        excess_[w] += std::max<int64_t>(0, cell.target - cell.fair);
      }
  }

  /// Places every row. The potentials prove that the result is a minimum.
  void solve() {
    while (raise_potentials())
      while (find_levels())
        push_all();
  }

  /// The potentials as prices for moves_bound.hpp.
  moves_certificate prices() const {
    return prices_of({potential_.begin(), potential_.end()}, c_);
  }

private:
  // Nodes: classes, then the workers' excess nodes, then their bodies.
  size_t nodes() const { return c_ + 2 * w_; }
  size_t excess_node(size_t w) const { return c_ + w; }
  size_t body_node(size_t w) const { return c_ + w_ + w; }
  bool is_body(size_t node) const { return node >= c_ + w_; }
  size_t worker_of(size_t node) const { return (node - c_) % w_; }
  size_t arc_end(size_t w, const quota_cell& cell) const {
    return cell.target < cell.fair ? body_node(w) : excess_node(w);
  }

  /// Calls visit(to, cost) for every residual arc from `node`.
  template <class Visit>
  void steps_from(size_t node, Visit visit) const {
    if (node < c_) {
      for (size_t w = 0; w < w_; ++w)
        if (p_.sizes[w] > 0) {
          const quota_cell& cell = p_.at(w, node);
          visit(arc_end(w, cell), more(cell).cost);
        }
      return;
    }
    size_t w = worker_of(node);
    bool body = is_body(node);
    // Always from the body, for the sake of the potentials: without excess the
    // arc leads nowhere.
    if (body)
      visit(excess_node(w), 0);
    else if (excess_[w] < p_.excess_max[w])
      visit(body_node(w), 0);
    for (size_t c = 0; c < c_; ++c) {
      const quota_cell& cell = p_.at(w, c);
      if (cell.target > 0 && body == (cell.target <= cell.fair))
        visit(c, less(cell).cost);
    }
  }

  int32_t reduced(size_t from, size_t to, int32_t cost) const {
    return cost + potential_[from] - potential_[to];
  }

  /// Computes distances from the rows left to place, by buckets. False if none
  /// is left.
  bool raise_potentials() {
    std::vector<int32_t> distance(nodes(), unseen);
    std::vector<std::vector<size_t>> buckets(1);
    for (size_t c = 0; c < c_; ++c)
      if (supply_[c] > 0) {
        distance[c] = 0;
        buckets[0].push_back(c);
      }
    if (buckets[0].empty())
      return false;
    int32_t nearest = unseen;
    for (size_t at = 0; at < buckets.size() && nearest == unseen; ++at) {
      for (size_t i = 0; i < buckets[at].size(); ++i) {
        size_t node = buckets[at][i];
        if (distance[node] != int32_t(at))
          continue; // was reached earlier
        if (is_body(node) && demand_[worker_of(node)] > 0)
          nearest = int32_t(at);
        steps_from(node, [&](size_t to, int32_t cost) {
          int32_t length = int32_t(at) + reduced(node, to, cost);
          if (distance[to] != unseen && distance[to] <= length)
            return;
          distance[to] = length;
          if (buckets.size() <= size_t(length))
            buckets.resize(size_t(length) + 1);
          buckets[size_t(length)].push_back(to);
        });
      }
    }
    for (size_t node = 0; node < nodes(); ++node)
      potential_[node] += distance[node] == unseen
                              ? nearest
                              : std::min(distance[node], nearest);
    return true;
  }

  /// Levels over arcs of reduced cost 0. True if one leads to a demand.
  bool find_levels() {
    level_.assign(nodes(), unseen);
    next_.assign(nodes(), 0);
    std::vector<size_t> queue;
    for (size_t c = 0; c < c_; ++c)
      if (supply_[c] > 0) {
        level_[c] = 0;
        queue.push_back(c);
      }
    bool found = false;
    for (size_t i = 0; i < queue.size(); ++i) {
      size_t node = queue[i];
      found |= is_body(node) && demand_[worker_of(node)] > 0;
      steps_from(node, [&](size_t to, int32_t cost) {
        if (level_[to] != unseen || reduced(node, to, cost) != 0)
          return;
        level_[to] = level_[node] + 1;
        queue.push_back(to);
      });
    }
    return found;
  }

  void push_all() {
    for (size_t c = 0; c < c_; ++c)
      while (supply_[c] > 0) {
        int64_t placed = push(c, supply_[c]);
        if (placed == 0)
          break;
        supply_[c] -= placed;
      }
  }

  bool leads_on(size_t from, size_t to, int32_t cost) const {
    return level_[to] == level_[from] + 1 && reduced(from, to, cost) == 0;
  }

  /// Pushes up to `rows` from `node` to a demand; returns how many. `next_` is
  /// the first neighbour that is not exhausted.
  int64_t push(size_t node, int64_t rows) {
    return node < c_ ? push_from_class(node, rows)
                     : push_from_worker(node, rows);
  }

  int64_t push_from_class(size_t c, int64_t rows) {
    for (size_t& w = next_[c]; w < w_; ++w) {
      if (p_.sizes[w] == 0)
        continue;
      quota_cell& cell = p_.at(w, c);
      residual room = more(cell);
      size_t to = arc_end(w, cell);
      if (!leads_on(c, to, room.cost))
        continue;
      int64_t done = push(to, std::min(rows, room.rows));
      if (done == 0)
        continue;
      cell.target += done;
      return done;
    }
    return 0;
  }

  int64_t push_from_worker(size_t node, int64_t rows) {
    size_t w = worker_of(node);
    bool body = is_body(node);
    if (body && demand_[w] > 0) {
      int64_t done = std::min(rows, demand_[w]);
      demand_[w] -= done;
      return done;
    }
    // Neighbour 0 is the worker's other node, neighbour 1 + c is class c.
    for (size_t& i = next_[node]; i <= c_; ++i) {
      int64_t done = i == 0 ? push_through(w, body, rows)
                            : push_out(node, i - 1, body, rows);
      if (done > 0)
        return done;
    }
    return 0;
  }

  int64_t push_through(size_t w, bool body, int64_t rows) {
    size_t from = body ? body_node(w) : excess_node(w);
    size_t to = body ? excess_node(w) : body_node(w);
    int64_t room = body ? excess_[w] : p_.excess_max[w] - excess_[w];
    if (room == 0 || !leads_on(from, to, 0))
      return 0;
    int64_t done = push(to, std::min(rows, room));
    excess_[w] += body ? -done : done;
    return done;
  }

  int64_t push_out(size_t from, size_t c, bool body, int64_t rows) {
    quota_cell& cell = p_.at(worker_of(from), c);
    if (cell.target == 0 || body != (cell.target <= cell.fair))
      return 0;
    residual room = less(cell);
    if (!leads_on(from, c, room.cost))
      return 0;
    int64_t done = push(c, std::min(rows, room.rows));
    cell.target -= done;
    return done;
  }

  quota_problem& p_;
  size_t w_;
  size_t c_;
  std::vector<int64_t> supply_; // by class: rows not placed yet
  std::vector<int64_t> demand_; // by worker: rows it lacks
  std::vector<int64_t> excess_; // by worker: sum of target beyond fair
  std::vector<int32_t> potential_;
  std::vector<int32_t> level_;
  std::vector<size_t> next_;
};

} // namespace

moves_certificate fast_prices(const quota_request& what) {
  quota_problem p(what);
  matrix_flow solver(p);
  solver.solve();
  return solver.prices();
}

quota fast_quota(const quota_request& what) {
  return budget_search(what).run([&what](quota_problem& p) {
    matrix_flow solver(p);
    solver.solve();
    // Prices of any such problem prove a bound for this one.
    const uint64_t bound = whole_rows(proven_rows(what, solver.prices()));
    if (!p.covered())
      add_holders(p);
    return bound;
  });
}

} // namespace ballast::balance
