// instance_hardness: the rows that their neighbours tell the class of.
#include "data/neighbours/nearest.hpp"
#include "data/resampling/resampling_task.hpp"

#include <algorithm>
#include <tuple>

namespace ballast::data {

resampled_rows without_hard(const resampling_task& task) {
  const uint64_t k = task.number("n_neighbors");
  task.need_rows(k, "n_neighbors");
  const class_index index = task.index_of_all();
  std::vector<std::vector<uint32_t>> kept = task.classes;
  for (const class_target& one : task.targets) {
    std::vector<uint32_t>& rows = kept[one.of_class];
    if (one.rows == rows.size())
      continue;
    const neighbour_table around =
        nearest(index, rows, index.all(), k, task.how);
    const counter_random random =
        draws_of(task.seed, one.of_class, draw_purpose::ties);
    // By the neighbours of other classes, then by lot, then by the row.
    std::vector<std::tuple<size_t, uint64_t, uint32_t>> order;
    order.reserve(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto foreign = size_t(
          std::ranges::count_if(around.of(i), [&](const neighbour& near) {
            return task.rows.of_row[near.row] != one.of_class;
          }));
      order.emplace_back(foreign, random.at(i), rows[i]);
    }
    std::sort(order.begin(), order.end());
    rows.resize(one.rows);
    for (size_t i = 0; i < rows.size(); ++i)
      rows[i] = std::get<uint32_t>(order[i]);
  }
  resampled_rows out;
  out.kept = in_order(kept);
  return out;
}

} // namespace ballast::data
