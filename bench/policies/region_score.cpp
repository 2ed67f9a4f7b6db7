#include "bench/policies/region_score.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ballast::policies {

std::vector<unit_move> region_score::tick(const cluster_view& view) {
  std::vector<unit_move> out;
  picker_.new_tick(view);
  follow_operators(view);
  for (size_t label = 0; label < view.reported.classes; ++label)
    for (uint32_t i = 0; i < options_.operators_per_tick; ++i) {
      size_t before = out.size();
      if (!balance(view, label, out))
        break;
      running_.insert(running_.end(), out.begin() + ptrdiff_t(before),
                      out.end());
    }
  return out;
}

/// An operator that is no longer in flight has ended; loads newer than its end
/// include it already.
void region_score::follow_operators(const cluster_view& view) {
  std::vector<unit_move> still;
  for (const unit_move& one : running_) {
    if (std::find(view.in_flight.begin(), view.in_flight.end(), one) !=
        view.in_flight.end()) {
      still.push_back(one);
      continue;
    }
    uint32_t label = view.places.label(one.unit);
    if (options_.influence_overwritten)
      std::erase_if(ended_, [&](const ended_operator& old) {
        return old.label == label;
      });
    ended_.push_back({one, label, view.now});
  }
  running_ = std::move(still);
  std::erase_if(ended_, [&](const ended_operator& one) {
    return one.at <= view.reported_at;
  });
}

std::vector<double> region_score::influences(const cluster_view& view,
                                             size_t label) const {
  std::vector<double> out(view.parts.size());
  auto add = [&](const unit_move& one) {
    if (view.places.label(one.unit) == label) {
      --out[one.from];
      ++out[one.to];
    }
  };
  for (const unit_move& one : running_)
    add(one);
  for (const ended_operator& one : ended_)
    add(one.what);
  return out;
}

bool region_score::balance(const cluster_view& view, size_t label,
                           std::vector<unit_move>& out) {
  size_t stores = view.parts.size();
  std::vector<double> influence = influences(view, label);
  double fullest = 0;
  for (size_t store = 0; store < stores; ++store)
    fullest = std::max(fullest, double(view.reported.at(store, label)));
  double tolerance =
      std::floor(std::max(1.0, fullest * options_.tolerance_part));
  // Weights average 1, so that a tolerance is a number of regions.
  auto score = [&](uint32_t store, double delta) {
    double size = double(view.reported.at(store, label)) + delta;
    return size / std::max(view.parts[store] * double(stores), 1e-12);
  };
  std::vector<uint32_t> order(stores);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return score(a, influence[a]) > score(b, influence[b]);
  });
  for (size_t i = 0; i + 1 < stores; ++i) {
    uint32_t source = order[i];
    double high =
        score(source, -options_.influence_factor * std::abs(influence[source]) -
                          tolerance);
    for (size_t k = stores - 1; k > i; --k) {
      uint32_t target = order[k];
      double low = score(
          target,
          options_.influence_factor * std::abs(influence[target]) + tolerance);
      if (high <= low)
        continue;
      size_t before = out.size();
      picker_.pick(view, label, source, target, 1, out);
      if (out.size() > before)
        return true;
      break; // no region there can move
    }
  }
  return false;
}

} // namespace ballast::policies
