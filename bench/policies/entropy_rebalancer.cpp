#include "bench/policies/entropy_rebalancer.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::policies {
namespace {

constexpr uint32_t cycles_between_sessions = 2;
constexpr double activations_few = 10'000;
constexpr double allowed_deviation_max = 0.1;

/// Entropy of the silos' holdings, by worker.
double entropy_of(const std::vector<uint64_t>& held,
                  const std::vector<double>& parts) {
  std::vector<double> ratios;
  double sum = 0;
  for (size_t worker = 0; worker < parts.size(); ++worker) {
    ratios.push_back(double(held[worker]) / std::max(parts[worker], 1e-12));
    sum += ratios.back();
  }
  double out = 0;
  for (double ratio : ratios) {
    double p = std::max(ratio / sum, 1e-10);
    out -= p * std::log(p);
  }
  return out;
}

} // namespace

std::vector<unit_move> entropy_rebalancer::tick(const cluster_view& view) {
  std::vector<unit_move> out;
  picker_.new_tick(view);
  sessions_.resize(view.reported.classes);
  std::vector<bool> awaited(view.reported.classes);
  for (const unit_move& one : view.in_flight)
    awaited[view.places.label(one.unit)] = true;
  std::vector<uint64_t> all;
  for (size_t silo = 0; silo < view.parts.size(); ++silo)
    all.push_back(view.reported.of_worker(silo));
  if (all.size() < 2)
    return out;
  double alpha = entropy_of(all, view.parts) / std::log(double(all.size()));
  for (size_t label = 0; label < view.reported.classes; ++label) {
    session& now = sessions_[label];
    if (now.waits > 0)
      --now.waits;
    else if (!awaited[label])
      run_cycle(view, label, alpha, now, out);
  }
  return out;
}

void entropy_rebalancer::run_cycle(const cluster_view& view, size_t label,
                                   double alpha, session& now,
                                   std::vector<unit_move>& out) {
  label_excess excess(view, label);
  size_t silos = excess.workers();
  if (excess.total() == 0)
    return;
  session ended;
  ended.waits = cycles_between_sessions;
  ++now.cycle;
  if (now.stale_cycles >= options_.stale_cycles_max) {
    now = ended;
    return;
  }
  double highest = std::log(double(silos));
  std::vector<uint64_t> held;
  for (size_t silo = 0; silo < silos; ++silo)
    held.push_back(view.reported.at(silo, label));
  double entropy = entropy_of(held, view.parts);
  double allowed = options_.allowed_deviation;
  if (double(excess.total()) >= activations_few)
    allowed = std::min(
        allowed_deviation_max,
        allowed * std::pow(10, std::floor(std::log10(double(excess.total()) /
                                                     activations_few))));
  if ((highest - entropy) / highest < allowed) {
    now = ended;
    return;
  }
  double change = std::abs(entropy - now.last_entropy) / highest;
  now.last_entropy = entropy;
  if (now.cycle > 1 && change < options_.quantum) {
    ++now.stale_cycles;
    return;
  }
  now.stale_cycles = 0;

  double scale = (1 - std::exp(-options_.cycle_weight * now.cycle)) /
                 (1 + options_.silo_weight * double(silos - 1));
  std::vector<uint32_t> order = excess.least_first();
  for (size_t low = 0, high = silos - 1; low < high; ++low, --high) {
    double difference = excess[order[high]] - excess[order[low]];
    picker_.pick(view, label, order[high], order[low],
                 uint64_t(alpha * scale * difference / 2), out);
  }
}

} // namespace ballast::policies
