/// Runs of every placement with several sets of speeds.
#pragma once

#include "tests/runtime/balance/balanced_run.hpp"

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

namespace ballast::testing {

inline constexpr uint32_t classes = 8;
inline constexpr uint32_t set_rows = 4000;
inline constexpr double budget = 0.1;

inline constexpr const char* kinds[] = {
    "contiguous", "iid",         "sizes",      "lognormal",       "linear",
    "square",     "exponential", "stratified", "sorted",          "shards",
    "classes",    "matrix",      "dirichlet",  "inner_dirichlet", "column",
    "continuous"};

/// As many rows of each class; the column is the class, blurred.
inline ledger::manifest placed_like(const std::string& kind, uint32_t workers,
                                    uint32_t chunk_rows, uint64_t seed) {
  std::vector<int32_t> labels;
  for (int32_t label = 0; label < int32_t(classes); ++label)
    labels.insert(labels.end(), set_rows / classes, label);
  test_random random(seed);
  std::vector<double> column;
  for (int32_t label : labels)
    column.push_back(
        std::floor(double(label) / 2) +
        (kind == "continuous" ? double(random.below(1000)) / 1e3 : 0));
  placement_spec spec;
  spec.kind = parse_word<placement_kind>(kind).value();
  spec.alpha = 0.3;
  spec.sigma = 0.7;
  spec.strictness = 0.7;
  if (kind == "sizes")
    for (uint32_t rank = 0; rank < workers; ++rank)
      spec.shares.push_back(1 + rank % 3);
  if (kind == "matrix")
    for (uint32_t rank = 0; rank < workers; ++rank) {
      spec.matrix.emplace_back();
      for (uint32_t label = 0; label < classes; ++label)
        spec.matrix.back().push_back(label % workers == rank ? 5 : 1);
    }
  if (kind == "column" || kind == "continuous")
    spec.column = "x";
  const placement::placement_rows of{labels.size(), labels, classes, column};
  return chunked(balance::lay_out_chunks(
                     spec, of, place_rows(spec, of, workers, seed), chunk_rows),
                 labels, classes);
}

struct speeds {
  const char* name;
  bool changes() const { return std::string(name) == "slow then well"; }
  double of(uint32_t workers, size_t rank, uint64_t step,
            uint64_t steps) const {
    const std::string kind = name;
    const bool last = rank + 1 == workers;
    if (kind == "one slow" || (changes() && step < steps / 2))
      return last ? 0.25 : 1;
    return kind == "1:2:3:4" ? double(rank % 4 + 1) / 2.5 : 1;
  }
};
inline constexpr speeds all_speeds[] = {
    {"equal"}, {"one slow"}, {"1:2:3:4"}, {"slow then well"}};

inline balanced_options options_of(const speeds& speed, uint32_t workers,
                                   uint64_t seed) {
  constexpr uint64_t steps = 1200;
  balanced_options out;
  out.seed = seed;
  out.steps = steps;
  out.skew_tv = budget;
  out.speed = [speed, workers](size_t rank, uint64_t step) {
    return speed.of(workers, rank, step, steps);
  };
  if (speed.changes())
    out.disturbed = {steps / 2};
  return out;
}

/// Other work on the core of rank 0: it comes and goes by chance, in bursts of
/// `steps` in the mean, half of the time. While it is there the core is shared.
class busy_core {
public:
  busy_core(uint64_t seed, double steps, uint64_t of) {
    test_random random(seed * 7919 + 1);
    bool busy = random.one_in(2);
    while (busy_.size() < of) {
      const double u = double(1 + random.below(1'000'000)) / 1'000'001;
      const auto length = uint64_t(1 - steps * std::log(u));
      busy_.insert(busy_.end(), length, busy);
      busy = !busy;
    }
  }
  /// Part of the core that is gone.
  double of(size_t rank, uint64_t step) const {
    return rank == 0 && busy_.at(step % busy_.size()) ? 0.5 : 0;
  }

  /// Steps at which it comes or goes.
  std::vector<uint64_t> changes() const {
    std::vector<uint64_t> out;
    for (uint64_t step = 1; step < busy_.size(); ++step)
      if (busy_[step] != busy_[step - 1])
        out.push_back(step);
    return out;
  }

private:
  std::vector<bool> busy_;
};

inline constexpr double step_s = 0.05;

/// Speeds that go up and down by a factor of two within ten minutes of such
/// steps, every worker's a quarter of that after the one before.
inline double of_day(size_t rank, uint64_t step) {
  const double t = double(step) * step_s / 600 + double(rank) / 4;
  return std::exp2(std::sin(2 * std::numbers::pi * t));
}

/// Rows that follow the mean speed of every epoch at once, known beforehand.
inline double rows_of_hindsight(uint64_t steps, uint64_t steps_per_epoch) {
  std::vector<double> sizes(4, set_rows / 4.0);
  double moved = 0;
  for (uint64_t at = 0; at < steps; at += steps_per_epoch) {
    std::vector<double> mean(4);
    double all = 0;
    for (uint64_t step = at; step < at + steps_per_epoch; ++step)
      for (size_t rank = 0; rank < 4; ++rank) {
        mean[rank] += of_day(rank, step);
        all += of_day(rank, step);
      }
    for (size_t rank = 0; rank < 4; ++rank) {
      const double wanted = set_rows * mean[rank] / all;
      moved += std::max(0.0, wanted - sizes[rank]);
      sizes[rank] = wanted;
    }
  }
  return moved;
}

} // namespace ballast::testing
