// Rows that go because of what is around them: tomek_links, enn, renn, all_knn,
// ncr.
#include "data/neighbours/nearest.hpp"
#include "data/resampling/edited_neighbours.hpp"
#include "data/resampling/resampling_task.hpp"

#include <algorithm>

namespace ballast::data {

namespace {

using graph::agreement;
using graph::resampling;

std::vector<uint64_t> rows_left(const resampling_task& task,
                                const std::vector<uint8_t>& gone) {
  std::vector<uint64_t> out(task.classes.size());
  for (size_t row = 0; row < gone.size(); ++row)
    out[task.rows.of_row[row]] += gone[row] == 0 ? 1 : 0;
  return out;
}

/// Where renn and all_knn end early: a class has become smaller than the
/// smallest one was, or is gone.
bool ends(const resampling_task& task, const std::vector<uint8_t>& gone,
          bool smaller_allowed) {
  const std::vector<uint64_t> left = rows_left(task, gone);
  const uint32_t smallest = smallest_class(task.classes);
  for (uint32_t c = 0; c < left.size(); ++c)
    if (left[c] == 0 || (!smaller_allowed && c != smallest &&
                         left[c] < task.classes[smallest].size()))
      return true;
  return false;
}

std::vector<uint8_t> edited(const resampling_task& task) {
  const uint64_t k = task.number("n_neighbors");
  task.need_rows(k, "n_neighbors");
  const class_index index = task.index_of_all();
  const auto rule = task.order.what == resampling::ncr
                        ? agreement::mode
                        : task.word<agreement>("kind_sel");
  edited_neighbours rows(index, task.targeted_rows(), k, rule, task.how);
  if (task.order.what == resampling::renn) {
    const uint64_t most = task.number("max_iter");
    for (uint64_t i = 0; i < most && rows.edit(k) > 0; ++i)
      if (ends(task, rows.gone(), false))
        break;
  } else if (task.order.what == resampling::all_knn) {
    for (uint64_t few = 1; few <= k; ++few) {
      rows.edit(few);
      if (ends(task, rows.gone(), task.order.get<bool>("allow_minority")))
        break;
    }
  } else {
    rows.edit(k);
  }
  return rows.gone();
}

/// What enn by mode removes, and of the neighbours of rows of the smallest
/// class that are misclassified those of classes that are not small, too.
std::vector<uint8_t> neighbourhoods_cleaned(const resampling_task& task) {
  std::vector<uint8_t> gone = edited(task);
  const uint32_t smallest = smallest_class(task.classes);
  const std::vector<uint32_t>& few = task.classes[smallest];
  const double least =
      double(few.size()) * task.order.get<double>("threshold_cleaning");
  std::vector<bool> cleaned = task.targeted();
  for (uint32_t c = 0; c < cleaned.size(); ++c)
    cleaned[c] = cleaned[c] && double(task.classes[c].size()) > least;
  const uint64_t k = task.number("n_neighbors");
  const class_index index = task.index_of_all();
  const neighbour_table table = nearest(index, few, index.all(), k, task.how);
  for (size_t i = 0; i < few.size(); ++i) {
    // The classifier that is meant has learnt the row, too: it votes.
    if (!is_outvoted(index, smallest, table.of(i).first(k - 1), 1))
      continue;
    for (const neighbour& one : table.of(i))
      if (one.row != no_row && cleaned[task.rows.of_row[one.row]])
        gone[one.row] = 1;
  }
  return gone;
}

} // namespace

/// Each link has an end in a class that is not the largest, so only the rows of
/// those are asked for their nearest one; of the others only whether a row that
/// takes them for its nearest is theirs, too.
std::vector<uint8_t> tomek_links(const class_index& index,
                                 const std::vector<bool>& targeted,
                                 const work_terms& how,
                                 std::vector<uint8_t> gone) {
  const std::vector<uint32_t> all = index.all();
  uint32_t largest = all.at(0);
  for (const uint32_t c : all)
    if (index.rows_of_class(c) > index.rows_of_class(largest))
      largest = c;
  const auto is_gone = [&gone](uint32_t row) {
    return !gone.empty() && gone[row] != 0;
  };
  std::vector<uint32_t> asked;
  for (const uint32_t c : all)
    if (c != largest)
      for (const uint32_t row : index.blocks_of(c).rows())
        if (!is_gone(row))
          asked.push_back(row);
  const neighbour_table table = nearest(index, asked, all, 1, how, gone);
  // Of each row that is the nearest of a row of another class, that row; of
  // several the nearest.
  std::vector<neighbour> suitor(index.points().rows, nobody);
  for (size_t i = 0; i < asked.size(); ++i) {
    const neighbour& to = table.of(i)[0];
    if (to.row != no_row && index.class_of(to.row) != index.class_of(asked[i]))
      suitor[to.row] =
          std::min(suitor[to.row], neighbour{to.squared, asked[i]});
  }
  std::vector<uint32_t> courted;
  std::vector<neighbour> bounds;
  for (uint32_t row = 0; row < suitor.size(); ++row)
    if (suitor[row] != nobody) {
      courted.push_back(row);
      bounds.push_back(suitor[row]);
    }
  const neighbour_table nearer =
      nearest_before(index, courted, bounds, all, 1, how, gone);
  std::vector<uint8_t> out =
      gone.empty() ? std::vector<uint8_t>(suitor.size()) : gone;
  for (size_t i = 0; i < courted.size(); ++i) {
    if (nearer.of(i)[0] != nobody)
      continue;
    for (const uint32_t end : {courted[i], bounds[i].row})
      if (targeted[index.class_of(end)])
        out[end] = 1;
  }
  return out;
}

std::vector<uint8_t> cleaned(const resampling_task& task) {
  switch (task.order.what) {
  case resampling::tomek_links:
  case resampling::smote_tomek:
    task.need_rows(1, "neighbours");
    return tomek_links(task.index_of_all(), task.targeted(), task.how);
  case resampling::ncr:
    return neighbourhoods_cleaned(task);
  default:
    return edited(task);
  }
}

} // namespace ballast::data
