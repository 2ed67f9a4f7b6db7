// near_miss: the rows that are nearest to the smallest class.
#include "data/neighbours/nearest.hpp"
#include "data/resampling/resampling_task.hpp"
#include "runtime/base/errors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace ballast::data {

namespace {

/// The sum of a row's distances; in order, so that every sum rounds alike.
std::vector<double> sums(const neighbour_table& table, size_t queries) {
  std::vector<double> out(queries);
  for (size_t i = 0; i < queries; ++i)
    for (const neighbour& one : table.of(i))
      out[i] += std::sqrt(one.squared);
  return out;
}

/// The places of the smallest (or largest) sums, of equal ones the first.
std::vector<size_t> best(const std::vector<double>& sums, size_t count,
                         bool largest) {
  std::vector<size_t> out(sums.size());
  std::iota(out.begin(), out.end(), 0);
  std::stable_sort(out.begin(), out.end(), [&](size_t a, size_t b) {
    return largest ? sums[a] > sums[b] : sums[a] < sums[b];
  });
  out.resize(std::min(count, out.size()));
  return out;
}

/// Of version 3: the neighbours that rows of the smallest class have in a
/// class.
std::vector<uint32_t> around_smallest(const resampling_task& task,
                                      const class_index& index, uint32_t c,
                                      uint32_t smallest, uint64_t wanted) {
  const neighbour_table table =
      nearest(index, task.classes[smallest], std::vector{c},
              task.number("n_neighbors_ver3"), task.how);
  std::set<uint32_t> out;
  for (const neighbour& one : table.all)
    if (one.row != no_row)
      out.insert(one.row);
  if (out.size() < wanted)
    throw ballast_error(
        errc::invalid_data,
        class_text(task.rows, c) + ": near_miss version 3 finds " +
            std::to_string(out.size()) + " rows near " +
            class_text(task.rows, smallest) + ", and " +
            std::to_string(wanted) +
            " are to stay; take a larger n_neighbors_ver3, fewer rows in "
            "sampling_strategy, or version 1");
  return {out.begin(), out.end()};
}

} // namespace

resampled_rows near_missed(const resampling_task& task) {
  const uint32_t smallest = smallest_class(task.classes);
  const uint64_t k = task.number("n_neighbors");
  const uint64_t version = task.number("version");
  if (k > task.classes[smallest].size())
    throw ballast_error(errc::invalid_data,
                        class_text(task.rows, smallest) + " has " +
                            std::to_string(task.classes[smallest].size()) +
                            " rows; near_miss with n_neighbors = " +
                            std::to_string(k) + " needs so many or more");
  const class_index index = task.index_of_all();
  std::vector<std::vector<uint32_t>> kept = task.classes;
  for (const class_target& one : task.targets) {
    const std::vector<uint32_t> rows =
        version == 3
            ? around_smallest(task, index, one.of_class, smallest, one.rows)
            : task.classes[one.of_class];
    const neighbour_table table =
        version == 2 ? furthest(index, rows, smallest, k, task.how)
                     : nearest(index, rows, std::vector{smallest}, k, task.how);
    kept[one.of_class].clear();
    for (const size_t place :
         best(sums(table, rows.size()), one.rows, version == 3))
      kept[one.of_class].push_back(rows[place]);
  }
  resampled_rows out;
  out.kept = in_order(kept);
  return out;
}

} // namespace ballast::data
