#include "bench/policies/hill_climbing.hpp"

#include <numeric>

namespace ballast::policies {
namespace {

constexpr double error_jitter = 1e-6;
/// After this many draws without success every reassignment is examined.
constexpr uint32_t draws_max = 4096;

} // namespace

/// Excesses of sizes and cells, updated incrementally.
struct hill_climbing::errors {
  size_t workers;
  size_t classes;
  std::vector<double> size; // beyond the target, by worker
  std::vector<double> cell; // likewise, [worker * classes + label]

  errors(const balance::label_counts& index, const std::vector<double>& parts)
      : workers(index.workers), classes(index.classes), size(index.workers),
        cell(index.workers * index.classes) {
    for (size_t label = 0; label < classes; ++label) {
      auto total = double(index.of_class(label));
      for (size_t worker = 0; worker < workers; ++worker) {
        double excess = double(index.at(worker, label)) - parts[worker] * total;
        cell[worker * classes + label] = excess;
        size[worker] += excess;
      }
    }
  }
  /// (f^2 + t^2) - ((f - 1)^2 + (t + 1)^2) = 2 (f - t - 1), for both terms.
  double gain(size_t label, size_t from, size_t to) const {
    return 2 * (size[from] - size[to] - 1) +
           2 * (cell[from * classes + label] - cell[to * classes + label] - 1);
  }
  void move(size_t label, size_t from, size_t to) {
    --size[from];
    ++size[to];
    --cell[from * classes + label];
    ++cell[to * classes + label];
  }
};

double hill_climbing::gain(const balance::label_counts& index,
                           const std::vector<double>& parts, size_t label,
                           size_t from, size_t to) {
  return errors(index, parts).gain(label, from, to);
}

std::vector<unit_move> hill_climbing::tick(const cluster_view& view) {
  std::vector<unit_move> out;
  picker_.new_tick(view);
  errors index(view.reported, view.parts);
  size_t workers = view.parts.size();
  uint64_t units = view.places.units();
  uint32_t draws = 0;
  auto accept = [&](uint32_t unit, uint32_t from, uint32_t to) {
    index.move(view.places.label(unit), from, to);
    picker_.take(unit);
    out.push_back({unit, from, to});
    draws = 0;
  };
  while (units > 0 && workers > 1 &&
         view.in_flight.size() + out.size() < options_.in_flight_max) {
    if (++draws <= draws_max) {
      auto unit = uint32_t(picker_.below(units));
      auto to = uint32_t(picker_.below(workers));
      uint32_t from = view.places.owner(unit);
      if (from != to && !picker_.taken(unit) &&
          index.gain(view.places.label(unit), from, to) > error_jitter)
        accept(unit, from, to);
      continue;
    }
    // With few left: all that help, each with its number of units.
    struct choice {
      uint32_t label, from, to;
    };
    std::vector<choice> helpful;
    for (uint32_t label = 0; label < index.classes; ++label)
      for (uint32_t from = 0; from < workers; ++from)
        for (uint32_t to = 0; to < workers; ++to)
          if (from != to && !view.places.units_at(from, label).empty() &&
              index.gain(label, from, to) > error_jitter)
            helpful.push_back({label, from, to});
    shuffle(helpful, counter_random(picker_.below(UINT64_MAX), 1));
    bool found = false;
    for (const choice& one : helpful) {
      std::vector<unit_move> some;
      picker_.pick(view, one.label, one.from, one.to, 1, some);
      if (some.empty())
        continue;
      accept(some.front().unit, one.from, one.to);
      found = true;
      break;
    }
    if (!found)
      break;
  }
  return out;
}

} // namespace ballast::policies
