#include "runtime/placement/row_lists.hpp"

#include "runtime/base/random.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace ballast::placement {

std::vector<uint64_t> all_rows(uint64_t rows) {
  std::vector<uint64_t> out(rows);
  std::iota(out.begin(), out.end(), uint64_t{0});
  return out;
}

row_lists cut(const std::vector<uint64_t>& order,
              const std::vector<uint64_t>& counts) {
  row_lists out;
  auto at = order.begin();
  for (uint64_t count : counts) {
    out.emplace_back(at, at + ptrdiff_t(count));
    at += ptrdiff_t(count);
  }
  return out;
}

row_lists rows_by_class(const placement_rows& of) {
  row_lists out(std::max(of.classes, 1u));
  for (uint64_t row = 0; row < of.rows; ++row)
    out[of.labels.empty() ? 0 : size_t(of.labels[row])].push_back(row);
  return out;
}

std::vector<uint64_t> class_sizes(const placement_rows& of) {
  std::vector<uint64_t> out(std::max(of.classes, 1u));
  if (of.labels.empty())
    out[0] = of.rows;
  for (int32_t label : of.labels)
    ++out[size_t(label)];
  return out;
}

std::vector<uint64_t> rows_by_label(const placement_rows& of) {
  std::vector<uint64_t> out = all_rows(of.rows);
  if (!of.labels.empty())
    std::stable_sort(out.begin(), out.end(), [&](uint64_t a, uint64_t b) {
      return of.labels[a] < of.labels[b];
    });
  return out;
}

void shuffle_classes(row_lists& by_class, uint64_t seed) {
  for (size_t label = 0; label < by_class.size(); ++label)
    shuffle(by_class[label],
            counter_random(seed, mix(stream_stratified, label)));
}

void shuffle_workers(row_lists& lists, uint64_t seed) {
  for (size_t worker = 0; worker < lists.size(); ++worker)
    shuffle(lists[worker], counter_random(seed, mix(stream_order, worker)));
}

void leave_at_least(row_lists& lists, uint64_t least) {
  uint64_t rows = 0;
  std::set<std::pair<uint64_t, size_t>> longest; // first: longest, then lowest
  for (size_t worker = 0; worker < lists.size(); ++worker) {
    rows += lists[worker].size();
    longest.emplace(UINT64_MAX - lists[worker].size(), worker);
  }
  if (rows / lists.size() < least)
    return;
  auto resize = [&](size_t worker, auto change) {
    longest.erase({UINT64_MAX - lists[worker].size(), worker});
    change(lists[worker]);
    longest.emplace(UINT64_MAX - lists[worker].size(), worker);
  };
  for (size_t worker = 0; worker < lists.size(); ++worker)
    while (lists[worker].size() < least) {
      // Its length is above the mean, hence above `least`: never the worker
      // itself.
      const size_t from = longest.begin()->second;
      const uint64_t row = lists[from].back();
      resize(from, [](auto& list) { list.pop_back(); });
      resize(worker, [row](auto& list) { list.push_back(row); });
    }
}

} // namespace ballast::placement
