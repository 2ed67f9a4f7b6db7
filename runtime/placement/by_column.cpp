#include "runtime/base/random.hpp"
#include "runtime/placement/generators.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace ballast::placement {

namespace {

/// Rank of each row's value in [0, 1); rows with equal values share the mean of
/// their ranks.
std::vector<double> ranks_of(const placement_rows& of) {
  std::vector<uint64_t> order = all_rows(of.rows);
  std::sort(order.begin(), order.end(), [&](uint64_t a, uint64_t b) {
    return of.column[a] < of.column[b];
  });
  std::vector<double> out(of.rows);
  for (uint64_t first = 0, end = 0; first < of.rows; first = end) {
    while (end < of.rows && of.column[order[end]] == of.column[order[first]])
      ++end;
    for (uint64_t i = first; i < end; ++i)
      out[order[i]] = double(first + end) / 2 / double(of.rows);
  }
  return out;
}

/// Value -> its rows, in file order.
std::map<double, std::vector<uint64_t>> groups_of(const placement_rows& of) {
  std::map<double, std::vector<uint64_t>> out;
  for (uint64_t row = 0; row < of.rows; ++row)
    out[of.column[row]].push_back(row);
  return out;
}

} // namespace

row_lists place_groups(const placement_rows& of, uint32_t workers) {
  const auto by_value = groups_of(of);
  std::vector<const std::vector<uint64_t>*> groups;
  for (const auto& [value, rows] : by_value)
    groups.push_back(&rows);
  std::stable_sort(
      groups.begin(), groups.end(),
      [](const auto* a, const auto* b) { return a->size() > b->size(); });
  row_lists out(workers);
  std::set<std::pair<uint64_t, uint32_t>> fewest; // rows, worker
  for (uint32_t worker = 0; worker < workers; ++worker)
    fewest.emplace(0, worker);
  for (const std::vector<uint64_t>* group : groups) {
    const uint32_t worker = fewest.begin()->second;
    fewest.erase(fewest.begin());
    out[worker].insert(out[worker].end(), group->begin(), group->end());
    fewest.emplace(out[worker].size(), worker);
  }
  return out;
}

uint64_t count_groups(const placement_rows& of) {
  return groups_of(of).size();
}

row_lists place_continuous(const placement_rows& of, double strictness,
                           uint32_t workers, uint64_t seed) {
  std::vector<double> keys = ranks_of(of);
  const counter_random noise(seed, stream_continuous);
  for (uint64_t row = 0; row < of.rows; ++row)
    keys[row] = strictness * keys[row] + (1 - strictness) * noise.unit(row);
  std::vector<uint64_t> order = all_rows(of.rows);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint64_t a, uint64_t b) { return keys[a] < keys[b]; });
  return cut(order, split_by_shares(of.rows, std::vector<double>(workers, 1)));
}

} // namespace ballast::placement
