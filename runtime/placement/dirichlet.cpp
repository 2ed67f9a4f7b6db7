#include "runtime/base/random.hpp"
#include "runtime/placement/generators.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ballast::placement {

namespace {

/// The logarithm of a Gamma(alpha, 1) number: Marsaglia and Tsang, "A simple
/// method for generating gamma variables", TOMS 26(3), 2000, for alpha + 1,
/// times U^(1/alpha). Computed in logarithms, because the power underflows for
/// small alpha.
double log_gamma_number(double alpha, const counter_random& random) {
  const double d = alpha + 1 - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  uint64_t counter = 0;
  auto unit = [&] { return 1 - random.unit(counter++); }; // in (0, 1]
  const double boost = std::log(unit()) / alpha;
  for (;;) {
    const double radius = std::sqrt(-2 * std::log(unit()));
    const double x = radius * std::cos(2 * M_PI * unit());
    const double root = 1 + c * x;
    if (root <= 0)
      continue;
    const double v = root * root * root;
    if (std::log(unit()) < 0.5 * x * x + d - d * v + d * std::log(v))
      return std::log(d * v) + boost;
  }
}

/// Proportions of a Dirichlet draw, given as logarithms, over the open entries.
/// Relative to the largest of them, so that they never all underflow.
template <class IsOpen>
std::vector<double> proportions(const std::vector<double>& logs,
                                IsOpen is_open) {
  double largest = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < logs.size(); ++i)
    if (is_open(i))
      largest = std::max(largest, logs[i]);
  std::vector<double> out(logs.size(), 0);
  for (size_t i = 0; i < logs.size(); ++i)
    if (is_open(i))
      out[i] = std::exp(logs[i] - largest);
  return out;
}

/// How many rows of each class each worker takes. In each round all workers ask
/// for the rest of their demand; rounds repeat until one leaves no class short.
class mixed_demand {
public:
  mixed_demand(std::vector<std::vector<double>> logs,
               std::vector<uint64_t> sizes, std::vector<uint64_t> supply)
      : logs_(std::move(logs)), needed_(std::move(sizes)),
        supply_(std::move(supply)),
        taken_(needed_.size(), std::vector<uint64_t>(supply_.size())) {}

  /// By worker, by class. Precondition: total demand equals total supply.
  const std::vector<std::vector<uint64_t>>& meet() {
    // A round either meets every demand or exhausts a class.
    while (std::any_of(needed_.begin(), needed_.end(),
                       [](uint64_t rows) { return rows > 0; }))
      meet_once();
    return taken_;
  }

private:
  void meet_once() {
    std::vector<std::vector<uint64_t>> asked;
    for (size_t worker = 0; worker < needed_.size(); ++worker)
      asked.push_back(split_by_shares(
          needed_[worker], proportions(logs_[worker], [&](size_t label) {
            return supply_[label] > 0;
          })));
    for (size_t label = 0; label < supply_.size(); ++label) {
      std::vector<uint64_t> given;
      for (const std::vector<uint64_t>& one : asked)
        given.push_back(one[label]);
      const uint64_t sum =
          std::accumulate(given.begin(), given.end(), uint64_t{0});
      if (sum > supply_[label])
        given = split_by_shares(
            supply_[label], std::vector<double>(given.begin(), given.end()));
      for (size_t worker = 0; worker < needed_.size(); ++worker) {
        // Capped at the demand, whatever rounding does.
        const uint64_t rows = std::min(given[worker], asked[worker][label]);
        taken_[worker][label] += rows;
        needed_[worker] -= rows;
        supply_[label] -= rows;
      }
    }
  }

  std::vector<std::vector<double>> logs_;
  std::vector<uint64_t> needed_; // by worker
  std::vector<uint64_t> supply_; // by class
  std::vector<std::vector<uint64_t>> taken_;
};

} // namespace

row_lists place_dirichlet(const placement_rows& of, double alpha, bool balanced,
                          uint32_t workers, uint64_t seed) {
  row_lists by_class = rows_by_class(of);
  shuffle_classes(by_class, seed);
  row_lists out(workers);
  for (size_t label = 0; label < by_class.size(); ++label) {
    if (by_class[label].empty())
      continue;
    std::vector<double> logs;
    for (uint32_t worker = 0; worker < workers; ++worker)
      logs.push_back(log_gamma_number(
          alpha,
          counter_random(mix(seed, label), mix(stream_dirichlet, worker))));
    // While a row is left, some worker is below the mean.
    const std::vector<double> shares = proportions(logs, [&](size_t worker) {
      return !balanced || out[worker].size() * workers < of.rows;
    });
    const row_lists parts =
        cut(by_class[label], split_by_shares(by_class[label].size(), shares));
    for (uint32_t worker = 0; worker < workers; ++worker)
      out[worker].insert(out[worker].end(), parts[worker].begin(),
                         parts[worker].end());
  }
  return out;
}

row_lists place_inner_dirichlet(const placement_rows& of, double alpha,
                                const std::vector<uint64_t>& sizes,
                                uint64_t seed) {
  row_lists by_class = rows_by_class(of);
  shuffle_classes(by_class, seed);
  std::vector<std::vector<double>> logs(sizes.size());
  for (size_t worker = 0; worker < sizes.size(); ++worker)
    for (size_t label = 0; label < by_class.size(); ++label)
      logs[worker].push_back(log_gamma_number(
          alpha, counter_random(mix(seed, label),
                                mix(stream_inner_dirichlet, worker))));
  mixed_demand demand(std::move(logs), sizes, class_sizes(of));
  row_lists out(sizes.size());
  std::vector<size_t> used(by_class.size());
  const auto& taken = demand.meet();
  for (size_t worker = 0; worker < sizes.size(); ++worker)
    for (size_t label = 0; label < by_class.size(); ++label) {
      const auto first = by_class[label].begin() + ptrdiff_t(used[label]);
      out[worker].insert(out[worker].end(), first,
                         first + ptrdiff_t(taken[worker][label]));
      used[label] += taken[worker][label];
    }
  return out;
}

} // namespace ballast::placement
