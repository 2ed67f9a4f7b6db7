// Rows on the lines between others: smote, borderline_smote, adasyn.
#include "data/neighbours/nearest.hpp"
#include "data/resampling/class_lines.hpp"
#include "data/resampling/resampling_task.hpp"
#include "runtime/base/errors.hpp"

#include <algorithm>
#include <numeric>

namespace ballast::data {

namespace {

using graph::resampling;

/// How many of a row's neighbours are of other classes.
std::vector<uint64_t> foreign_counts(const resampling_task& task,
                                     const neighbour_table& table, uint32_t c) {
  std::vector<uint64_t> out(task.classes[c].size());
  for (size_t i = 0; i < out.size(); ++i)
    for (const neighbour& one : table.of(i))
      out[i] += one.row != no_row && task.rows.of_row[one.row] != c ? 1 : 0;
  return out;
}

/// The classes for whose new rows neighbours are needed.
std::vector<bool> raised(const resampling_task& task) {
  std::vector<bool> out(task.rows.names.size());
  for (const class_target& one : task.targets)
    out[one.of_class] = one.rows > 0;
  return out;
}

std::vector<made_row> smote_lines(const resampling_task& task,
                                  const class_index& index,
                                  const class_target& target) {
  const class_lines lines(task, target.of_class, target.rows);
  const uint32_t c = target.of_class;
  const auto k = neighbours_of(task, c, "k_neighbors");
  if (!k)
    return lines.repeated();
  return lines.from_any(task.classes[c],
                        nearest(index, task.classes[c], {&c, 1}, *k, task.how));
}

std::vector<made_row> borderline_lines(const resampling_task& task,
                                       const class_index& index,
                                       const class_target& target) {
  const class_lines lines(task, target.of_class, target.rows);
  const uint32_t c = target.of_class;
  const uint64_t m = task.number("m_neighbors");
  const auto k = neighbours_of(task, c, "k_neighbors");
  if (!k)
    return lines.repeated();
  const std::vector<uint32_t> all = index.all();
  const std::vector<uint64_t> foreign = foreign_counts(
      task, nearest(index, task.classes[c], all, m, task.how), c);
  std::vector<uint32_t> danger;
  for (size_t i = 0; i < foreign.size(); ++i)
    if (2 * foreign[i] >= m && foreign[i] < m)
      danger.push_back(task.classes[c][i]);
  if (danger.empty())
    throw ballast_error(
        errc::invalid_data,
        class_text(task.rows, c) +
            ": borderline_smote finds no row in danger (half or more of its " +
            std::to_string(m) +
            " neighbours of other classes, but not all); take another "
            "m_neighbors, or smote");
  if (task.word<graph::borderline_kind>("kind") == graph::borderline_kind::one)
    return lines.from_any(danger,
                          nearest(index, danger, {&c, 1}, *k, task.how));
  const uint64_t wanted = task.number("k_neighbors");
  task.need_rows(wanted, "k_neighbors");
  std::vector<made_row> out =
      lines.from_any(danger, nearest(index, danger, all, wanted, task.how));
  lines.shorten(out);
  return out;
}

std::vector<made_row> adasyn_lines(const resampling_task& task,
                                   const class_index& index,
                                   const class_target& target) {
  const class_lines lines(task, target.of_class, target.rows);
  const uint32_t c = target.of_class;
  const auto k = neighbours_of(task, c, "n_neighbors");
  if (!k)
    return lines.repeated();
  const std::vector<uint64_t> foreign =
      foreign_counts(task,
                     nearest(index, task.classes[c], index.all(),
                             task.number("n_neighbors"), task.how),
                     c);
  if (std::ranges::all_of(foreign, [](uint64_t one) { return one == 0; }))
    throw ballast_error(errc::invalid_data,
                        class_text(task.rows, c) +
                            ": adasyn finds no row with a neighbour of another "
                            "class, so that none is hard; take smote");
  const std::vector<uint64_t> counts = shares(foreign, target.rows);
  std::vector<uint32_t> from;
  std::vector<uint64_t> each;
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0) {
      from.push_back(task.classes[c][i]);
      each.push_back(counts[i]);
    }
  return lines.from_each(from, each,
                         nearest(index, from, {&c, 1}, *k, task.how));
}

} // namespace

resampled_rows with_lines(const resampling_task& task) {
  const resampling what = task.order.what;
  const bool all_classes =
      what == resampling::borderline_smote || what == resampling::adasyn;
  resampled_rows out;
  out.kept.resize(task.rows.of_row.size());
  std::iota(out.kept.begin(), out.kept.end(), 0);
  const std::vector<bool> used = raised(task);
  if (std::ranges::find(used, true) == used.end())
    return out;
  if (what == resampling::adasyn)
    task.need_rows(task.number("n_neighbors"), "n_neighbors");
  if (what == resampling::borderline_smote)
    task.need_rows(task.number("m_neighbors"), "m_neighbors");
  const class_index index =
      all_classes ? task.index_of_all() : task.index_of(used);
  for (const class_target& one : task.targets) {
    if (one.rows == 0)
      continue;
    const std::vector<made_row> lines = what == resampling::borderline_smote
                                            ? borderline_lines(task, index, one)
                                        : what == resampling::adasyn
                                            ? adasyn_lines(task, index, one)
                                            : smote_lines(task, index, one);
    out.made.insert(out.made.end(), lines.begin(), lines.end());
  }
  out.values = drawn_lines(task, out.made);
  return out;
}

} // namespace ballast::data
