/// Counts of rows by worker and class for tests, made the ways in which data is
/// spread over workers in practice.
#pragma once

#include "runtime/balance/quota.hpp"
#include "runtime/placement/placement.hpp"
#include "tests/runtime/ledger/ledger_fixture.hpp"

#include <cmath>
#include <string>

namespace ballast::testing {

/// `count` weights that differ the more, the larger `spread`: all 1 for 0.
inline std::vector<double> lognormal(size_t count, double spread,
                                     test_random& random) {
  std::vector<double> out;
  for (size_t i = 0; i < count; ++i) {
    // Twelve uniform numbers make a normal one that is good enough.
    double normal = -6;
    for (int k = 0; k < 12; ++k)
      normal += double(random.below(1 << 20)) / (1 << 20);
    out.push_back(std::exp(spread * normal));
  }
  return out;
}

inline balance::label_counts
count_rows(const std::vector<std::vector<uint64_t>>& lists,
           const std::vector<int32_t>& labels, uint32_t classes) {
  balance::label_counts out(lists.size(), classes);
  for (size_t w = 0; w < lists.size(); ++w)
    for (uint64_t row : lists[w])
      ++out.at(w, size_t(labels[row]));
  return out;
}

/// Labels whose classes are not equally frequent.
inline std::vector<int32_t> uneven_labels(uint64_t rows, uint32_t classes,
                                          test_random& random) {
  std::vector<uint64_t> of_class =
      placement::split_by_shares(rows, lognormal(classes, 0.5, random));
  std::vector<int32_t> out;
  for (uint32_t c = 0; c < classes; ++c)
    out.insert(out.end(), of_class[c], int32_t(c));
  return out;
}

/// Sorted by label and cut in `per_worker` shards for each worker, dealt at
/// random.
inline std::vector<std::vector<uint64_t>> deal_shards(uint64_t rows,
                                                      uint32_t workers,
                                                      uint32_t per_worker,
                                                      uint64_t seed) {
  std::vector<uint64_t> shards(uint64_t{workers} * per_worker);
  std::iota(shards.begin(), shards.end(), uint64_t{0});
  shuffle(shards, counter_random(seed, 1));
  std::vector<std::vector<uint64_t>> out(workers);
  for (uint64_t i = 0; i < shards.size(); ++i)
    for (uint64_t row = rows * shards[i] / shards.size();
         row < rows * (shards[i] + 1) / shards.size(); ++row)
      out[i % workers].push_back(row);
  return out;
}

inline const std::vector<std::string>& generator_names() {
  static const std::vector<std::string> names{"iid", "sorted", "dirichlet",
                                              "lognormal", "shards"};
  return names;
}

/// What `workers` hold of `rows` rows of `classes` classes.
inline balance::label_counts generate(const std::string& name, uint32_t workers,
                                      uint32_t classes, uint64_t rows,
                                      test_random& random) {
  std::vector<int32_t> labels = uneven_labels(rows, classes, random);
  uint64_t seed = random.below(1 << 30);
  if (name == "shards")
    return count_rows(deal_shards(rows, workers, 2, seed), labels, classes);
  placement_spec spec;
  spec.kind = parse_word<placement_kind>(name).value();
  if (name == "dirichlet")
    spec.alpha = std::vector{0.05, 0.1, 0.3, 1.0}[random.below(4)];
  if (name == "lognormal") {
    spec.kind = placement_kind::sizes;
    spec.shares = lognormal(workers, 1, random);
    // In file order, but not by label.
    shuffle(labels, counter_random(seed, 2));
  }
  return count_rows(
      placement::place_rows(spec, {rows, labels, classes}, workers, seed),
      labels, classes);
}

/// Sizes for all these rows: equal, or by speed, sometimes with leavers.
inline std::vector<uint64_t> some_sizes(const balance::label_counts& held,
                                        test_random& random) {
  std::vector<double> weights =
      lognormal(held.workers, random.one_in(2) ? 0 : 0.7, random);
  if (random.one_in(3))
    weights[random.below(held.workers)] = 0;
  if (held.workers == 1)
    weights = {1};
  return placement::split_by_shares(held.total(), weights);
}

inline balance::quota_request some_request(uint64_t seed) {
  test_random random(seed);
  auto workers = uint32_t(random.between(1, random.one_in(4) ? 12 : 5));
  auto classes = uint32_t(random.between(1, random.one_in(4) ? 20 : 6));
  uint64_t rows =
      random.one_in(2) ? random.between(1, 60) : random.between(workers, 2000);
  const std::string& name = generator_names()[seed % generator_names().size()];
  balance::quota_request out;
  out.held = generate(name, workers, classes, rows, random);
  out.sizes = some_sizes(out.held, random);
  out.skew_tv = std::vector{0.0, 0.05, 0.1, 0.3, 1.0}[random.below(5)];
  out.holders_min = uint32_t(random.below(4));
  return out;
}

} // namespace ballast::testing
