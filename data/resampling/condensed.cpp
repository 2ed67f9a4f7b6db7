// Rows that are needed to give the others their class: condensed_nn and
// one_sided_selection.
#include "data/neighbours/nearest.hpp"
#include "data/resampling/resampling_task.hpp"

#include <algorithm>
#include <set>

namespace ballast::data {

namespace {

std::vector<uint32_t> drawn_seeds(const resampling_task& task, uint32_t c) {
  const std::vector<uint32_t>& rows = task.classes[c];
  const counter_random random = draws_of(task.seed, c, draw_purpose::rows);
  std::set<uint32_t> out;
  for (uint64_t i = 0; i < task.number("n_seeds_S"); ++i)
    out.insert(rows[random.below(rows.size(), i)]);
  return {out.begin(), out.end()};
}

/// The distances from each row of a class to the nearest of the smallest class.
/// Of equal distances that class has the better claim.
std::vector<double> to_smallest(const resampling_task& task,
                                const class_index& index, uint32_t c) {
  const uint32_t smallest = smallest_class(task.classes);
  const neighbour_table table =
      nearest(index, task.classes[c], std::vector{smallest}, 1, task.how);
  std::vector<double> out;
  for (const neighbour& one : table.all)
    out.push_back(one.squared);
  return out;
}

/// A class is never condensed against itself.
bool is_condensed(const resampling_task& task, const class_target& one) {
  return one.of_class != smallest_class(task.classes);
}

/// One pass: a row that the rows kept so far would misclassify is kept. Once
/// one of its class is nearer than the smallest class, it stays so.
void condense(const resampling_task& task, const class_index& index, uint32_t c,
              std::vector<uint8_t>& gone) {
  const std::vector<uint32_t>& rows = task.classes[c];
  const point_view& points = task.rows.features;
  const std::vector<double> other = to_smallest(task, index, c);
  std::vector<uint32_t> open(rows.size()); // not yet classified, in order
  for (size_t i = 0; i < rows.size(); ++i)
    open[i] = uint32_t(i);
  const auto keep = [&](uint32_t row) {
    gone[row] = 0;
    std::erase_if(open, [&](uint32_t i) {
      return rows[i] == row ||
             squared_distance(points.at(row), points.at(rows[i]),
                              points.columns) < other[i];
    });
  };
  for (const uint32_t row : rows)
    gone[row] = 1;
  for (const uint32_t row : drawn_seeds(task, c))
    keep(row);
  while (!open.empty()) {
    store::check_stop(task.how.stop);
    keep(rows[open.front()]);
  }
}

} // namespace

std::vector<uint8_t> condensed(const resampling_task& task) {
  const class_index index = task.index_of_all();
  std::vector<uint8_t> gone(task.rows.of_row.size());
  for (const class_target& one : task.targets)
    if (is_condensed(task, one))
      condense(task, index, one.of_class, gone);
  return gone;
}

std::vector<uint8_t> one_sided(const resampling_task& task) {
  const class_index index = task.index_of_all();
  const point_view& points = task.rows.features;
  std::vector<uint8_t> gone(task.rows.of_row.size());
  for (const class_target& one : task.targets) {
    if (!is_condensed(task, one))
      continue;
    const std::vector<uint32_t>& rows = task.classes[one.of_class];
    const std::vector<uint32_t> seeds = drawn_seeds(task, one.of_class);
    const std::vector<double> other = to_smallest(task, index, one.of_class);
    for (size_t i = 0; i < rows.size(); ++i)
      gone[rows[i]] = std::ranges::any_of(seeds, [&](uint32_t seed) {
        return seed != rows[i] &&
               squared_distance(points.at(seed), points.at(rows[i]),
                                points.columns) < other[i];
      });
    for (const uint32_t seed : seeds)
      gone[seed] = 0;
  }
  return tomek_links(index, task.targeted(), task.how, gone);
}

} // namespace ballast::data
