// cluster_centroids: the centres of k-means in the place of rows.
#include "data/neighbours/k_means.hpp"
#include "data/neighbours/nearest.hpp"
#include "data/resampling/resampling_task.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ballast::data {

namespace {

/// For each centre the nearest row of its own cluster, so that no row comes
/// twice.
std::vector<uint32_t> rows_of_centres(const point_view& points,
                                      const std::vector<uint32_t>& rows,
                                      const k_means_result& found,
                                      size_t centres) {
  const size_t columns = points.columns;
  std::vector<neighbour> best(centres);
  for (neighbour& one : best)
    one.squared = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint32_t k = found.nearest[i];
    const neighbour one{squared_distance(points.at(rows[i]),
                                         found.centres.data() + k * columns,
                                         columns),
                        rows[i]};
    best[k] = std::min(best[k], one);
  }
  std::vector<uint32_t> out;
  for (const neighbour& one : best)
    if (one.row != no_row)
      out.push_back(one.row);
  std::sort(out.begin(), out.end());
  // A centre without a cluster of its own lies on equal rows: any other row.
  for (size_t i = 0; i < rows.size() && out.size() < centres; ++i)
    if (!std::binary_search(out.begin(), out.end(), rows[i]))
      out.insert(std::upper_bound(out.begin(), out.end(), rows[i]), rows[i]);
  return out;
}

} // namespace

resampled_rows with_centroids(const resampling_task& task) {
  const size_t columns = task.rows.features.columns;
  const bool soft = task.word<graph::voting>("voting") == graph::voting::soft;
  resampled_rows out;
  std::vector<std::vector<uint32_t>> kept = task.classes;
  for (const class_target& one : task.targets) {
    const std::vector<uint32_t>& rows = task.classes[one.of_class];
    if (one.rows == rows.size())
      continue;
    kept[one.of_class].clear();
    if (one.rows == 0)
      continue;
    std::vector<bool> used(task.rows.names.size());
    used[one.of_class] = true;
    const class_index index = task.index_of(used);
    const k_means_result found = k_means(
        index, one.of_class,
        {.centres = one.rows, .rounds_max = task.number("max_iter")},
        draws_of(task.seed, one.of_class, draw_purpose::rows), task.how);
    if (!soft) {
      kept[one.of_class] =
          rows_of_centres(task.rows.features, rows, found, one.rows);
      continue;
    }
    for (size_t k = 0; k < one.rows; ++k)
      out.made.push_back({one.of_class, no_row, no_row, 0});
    out.values.insert(out.values.end(), found.centres.begin(),
                      found.centres.begin() + long(one.rows * columns));
  }
  out.kept = in_order(kept);
  return out;
}

} // namespace ballast::data
