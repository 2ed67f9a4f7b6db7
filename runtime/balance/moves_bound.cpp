#include "runtime/balance/moves_bound.hpp"

#include "runtime/balance/min_cost_flow.hpp"
#include "runtime/balance/quota_flow.hpp"
#include "runtime/base/check.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace ballast::balance {
namespace {

/// The finest resolution of the solver: parts of a row.
constexpr int64_t row_parts_max = 1 << 16;
constexpr int64_t units_max = int64_t{1} << 40;

/// The fair rows of a cell, a fraction.
class fair_parts {
public:
  explicit fair_parts(const quota_request& what)
      : what_(what), total_(double(what.held.total())) {
    for (size_t c = 0; c < what.held.classes; ++c)
      of_class_.push_back(double(what.held.of_class(c)));
  }
  double of_class(size_t c) const { return of_class_[c]; }
  double at(size_t w, size_t c) const {
    return total_ > 0 ? of_class_[c] * double(what_.sizes[w]) / total_ : 0;
  }

private:
  const quota_request& what_;
  double total_;
  std::vector<double> of_class_;
};

/// The flow of exact_quota.cpp without holders, in parts of rows.
class parts_graph {
public:
  explicit parts_graph(const quota_request& what)
      : workers_(what.held.workers), classes_(what.held.classes) {
    const fair_parts fair(what);
    const std::vector<double> budget = budget_rows(what);
    const auto total = int64_t(what.held.total());
    parts_ = std::clamp<int64_t>(units_max / std::max<int64_t>(1, total), 1,
                                 row_parts_max);
    problem_.supply.assign(classes_ + 2 * workers_, 0);
    for (size_t c = 0; c < classes_; ++c)
      problem_.supply[c] = parts_ * int64_t(what.held.of_class(c));
    for (size_t w = 0; w < workers_; ++w) {
      const int64_t size = parts_ * int64_t(what.sizes[w]);
      problem_.supply[body(w)] = -size;
      int64_t beyond = size;
      for (size_t c = 0; c < classes_ && size > 0; ++c) {
        const auto straight = int64_t(fair.at(w, c) * double(parts_));
        const int64_t held = parts_ * int64_t(what.held.at(w, c));
        const int64_t of_class = problem_.supply[c];
        beyond -= straight;
        add(c, body(w), std::min(held, straight), 0);
        add(c, body(w), straight - std::min(held, straight), 1);
        add(c, excess(w), held - std::min(held, straight), 0);
        add(c, excess(w), of_class, 1);
      }
      add(excess(w), body(w),
          std::max(beyond, int64_t(std::ceil(budget[w] * double(parts_)))), 0);
    }
  }

  moves_certificate prices() const {
    auto found = min_cost_flow(problem_);
    BALLAST_CHECK(found.has_value(), "a quota exists always");
    return prices_of(found->prices, classes_);
  }

private:
  size_t excess(size_t w) const { return classes_ + w; }
  size_t body(size_t w) const { return classes_ + workers_ + w; }
  void add(size_t from, size_t to, int64_t capacity, int64_t cost) {
    if (capacity > 0)
      problem_.arcs.push_back({uint32_t(from), uint32_t(to), capacity, cost});
  }

  size_t workers_;
  size_t classes_;
  int64_t parts_ = 1;
  flow_problem problem_;
};

} // namespace

moves_certificate prices_of(const std::vector<int64_t>& potentials,
                            size_t classes) {
  const size_t workers = (potentials.size() - classes) / 2;
  moves_certificate out;
  for (size_t c = 0; c < classes; ++c)
    out.class_prices.push_back(-potentials[c]);
  for (size_t w = 0; w < workers; ++w) {
    const int64_t excess = potentials[classes + w];
    const int64_t body = potentials[classes + workers + w];
    out.worker_prices.push_back(body);
    out.budget_prices.push_back(std::max<int64_t>(0, body - excess));
  }
  return out;
}

std::vector<double> budget_rows(const quota_request& what) {
  const fair_parts fair(what);
  std::vector<double> out;
  for (size_t w = 0; w < what.held.workers; ++w) {
    const auto size = double(what.sizes[w]);
    double whole = 0;
    for (size_t c = 0; c < what.held.classes; ++c)
      whole += std::floor(fair.at(w, c));
    out.push_back(
        std::max(std::clamp(what.skew_tv, 0.0, 1.0) * size, size - whole));
  }
  return out;
}

double proven_rows(const quota_request& what,
                   const moves_certificate& with_prices) {
  const fair_parts fair(what);
  const std::vector<double> budget = budget_rows(what);
  double out = 0;
  for (size_t c = 0; c < what.held.classes; ++c)
    out += double(with_prices.class_prices[c]) * fair.of_class(c);
  for (size_t w = 0; w < what.held.workers; ++w) {
    const double of_budget =
        std::max(0.0, double(with_prices.budget_prices[w]));
    out += double(with_prices.worker_prices[w]) * double(what.sizes[w]) -
           of_budget * budget[w];
    for (size_t c = 0; c < what.held.classes; ++c) {
      const auto held = double(what.held.at(w, c));
      const double most = std::min(fair.of_class(c), double(what.sizes[w]));
      const auto price =
          double(with_prices.class_prices[c] + with_prices.worker_prices[w]);
      // Convex, and linear between these.
      double least = 0;
      for (double x : {std::min(held, most), fair.at(w, c), most})
        least =
            std::min(least, std::max(0.0, x - held) +
                                of_budget * std::max(0.0, x - fair.at(w, c)) -
                                price * x);
      out += least;
    }
  }
  return out;
}

moves_certificate prove_moves_bound(const quota_request& what,
                                    size_t exact_cells_max) {
  const bool minimum = what.held.workers * what.held.classes <= exact_cells_max;
  moves_certificate out =
      minimum ? parts_graph(what).prices() : fast_prices(what);
  out.minimum = minimum;
  out.bound_rows = std::max(0.0, proven_rows(what, out));
  return out;
}

quota_request as_good_as(const label_counts& from, const label_counts& to,
                         double skew_tv) {
  quota_request out{from, {}, std::max(skew_tv, most_skew(to)), 1};
  for (size_t rank = 0; rank < to.workers; ++rank)
    out.sizes.push_back(to.of_worker(rank));
  return out;
}

nlohmann::ordered_json certificate_json(const quota_request& what,
                                        const moves_certificate& proof) {
  std::vector<std::vector<uint64_t>> held(what.held.workers);
  for (size_t rank = 0; rank < what.held.workers; ++rank)
    for (size_t label = 0; label < what.held.classes; ++label)
      held[rank].push_back(what.held.at(rank, label));
  return {{"held", held},
          {"sizes", what.sizes},
          {"skew_tv", what.skew_tv},
          {"class_prices", proof.class_prices},
          {"worker_prices", proof.worker_prices},
          {"budget_prices", proof.budget_prices},
          {"bound_rows", whole_rows(proof.bound_rows)},
          {"minimum", proof.minimum}};
}

uint64_t proven_least(const quota_request& what) {
  return what.held.rows.size() > fast_proof_cells_max
             ? 0
             : whole_rows(prove_moves_bound(what, proof_cells_max).bound_rows);
}

uint64_t whole_rows(double bound) {
  constexpr double rounding = 1e-6;
  return uint64_t(std::ceil(std::max(0.0, bound - rounding)));
}

} // namespace ballast::balance
