#include "runtime/base/random.hpp"
#include "runtime/placement/generators.hpp"

#include <algorithm>

namespace ballast::placement {

namespace {

std::vector<double> equal(size_t parts) {
  return std::vector<double>(parts, 1.0);
}

/// Assigns to each worker `per_worker` different classes of `classes`, so that
/// the number of holders differs by at most one between classes. Deals out
/// concatenated random orders of all classes in turn.
std::vector<std::vector<size_t>>
deal_classes(const std::vector<size_t>& classes, uint32_t per_worker,
             uint32_t workers, const counter_random& random) {
  std::vector<std::vector<size_t>> out(workers);
  std::vector<size_t> order;
  size_t at = 0;
  uint64_t draw = 0;
  for (std::vector<size_t>& mine : out)
    for (uint32_t i = 0; i < per_worker; ++i) {
      if (at == order.size()) {
        order = classes;
        shuffle(order, random, draw);
        draw += order.size();
        // Classes that this worker has already move to the end of the order.
        std::stable_partition(order.begin(), order.end(), [&](size_t label) {
          return std::count(mine.begin(), mine.end(), label) == 0;
        });
        at = 0;
      }
      mine.push_back(order[at++]);
    }
  return out;
}

} // namespace

row_lists place_stratified(const placement_rows& of, uint32_t workers,
                           uint64_t seed) {
  row_lists by_class = rows_by_class(of);
  shuffle_classes(by_class, seed);
  row_lists out(workers);
  uint64_t dealt = 0;
  for (const std::vector<uint64_t>& rows : by_class)
    for (uint64_t row : rows)
      out[dealt++ % workers].push_back(row);
  shuffle_workers(out, seed);
  return out;
}

row_lists place_sorted(const placement_rows& of, uint32_t workers) {
  return cut(rows_by_label(of), split_by_shares(of.rows, equal(workers)));
}

row_lists place_shards(const placement_rows& of, uint32_t per_worker,
                       uint32_t workers, uint64_t seed) {
  row_lists shards = cut(
      rows_by_label(of),
      split_by_shares(of.rows, equal(size_t{workers} * size_t{per_worker})));
  shuffle(shards, counter_random(seed, stream_shards));
  row_lists out(workers);
  for (size_t i = 0; i < shards.size(); ++i) {
    std::vector<uint64_t>& mine = out[i / per_worker];
    mine.insert(mine.end(), shards[i].begin(), shards[i].end());
  }
  return out;
}

row_lists place_classes(const placement_rows& of, uint32_t per_worker,
                        uint32_t workers, uint64_t seed) {
  row_lists by_class = rows_by_class(of);
  shuffle_classes(by_class, seed);
  std::vector<size_t> there;
  for (size_t label = 0; label < by_class.size(); ++label)
    if (!by_class[label].empty())
      there.push_back(label);
  row_lists out(workers);
  if (there.empty())
    return out;
  const auto held = deal_classes(there, per_worker, workers,
                                 counter_random(seed, stream_classes));
  std::vector<std::vector<uint32_t>> holders(by_class.size());
  for (uint32_t worker = 0; worker < workers; ++worker)
    for (size_t label : held[worker])
      holders[label].push_back(worker);
  for (size_t label : there) {
    const row_lists parts =
        cut(by_class[label], split_by_shares(by_class[label].size(),
                                             equal(holders[label].size())));
    for (size_t i = 0; i < parts.size(); ++i) {
      std::vector<uint64_t>& mine = out[holders[label][i]];
      mine.insert(mine.end(), parts[i].begin(), parts[i].end());
    }
  }
  return out;
}

row_lists place_by_matrix(const placement_rows& of,
                          const std::vector<std::vector<double>>& matrix,
                          uint64_t seed) {
  row_lists by_class = rows_by_class(of);
  shuffle_classes(by_class, seed);
  row_lists out(matrix.size());
  for (size_t label = 0; label < by_class.size(); ++label) {
    if (by_class[label].empty())
      continue; // its column may be all zeros
    std::vector<double> weights;
    for (const std::vector<double>& row : matrix)
      weights.push_back(row[label]);
    const row_lists parts =
        cut(by_class[label], split_by_shares(by_class[label].size(), weights));
    for (size_t worker = 0; worker < parts.size(); ++worker)
      out[worker].insert(out[worker].end(), parts[worker].begin(),
                         parts[worker].end());
  }
  return out;
}

} // namespace ballast::placement
