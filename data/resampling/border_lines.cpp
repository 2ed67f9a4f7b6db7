// svm_smote: rows from those that hold the border of a class.
#include "data/neighbours/nearest.hpp"
#include "data/resampling/class_lines.hpp"
#include "data/resampling/memory_room.hpp"
#include "data/resampling/resampling_task.hpp"
#include "data/resampling/support_vectors.hpp"
#include "runtime/base/errors.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace ballast::data {

namespace {

constexpr size_t border_rows_max = 100'000;

/// The rows of a class that support its border to any other one.
std::vector<uint32_t> border_of(const resampling_task& task, uint32_t c) {
  const auto gamma = task.order.get<double>("gamma");
  support_terms terms{.c = task.order.get<double>("C"),
                      .gamma =
                          gamma > 0 ? gamma : usual_gamma(task.rows.features)};
  const size_t classes = task.rows.names.size();
  check_room(task.how.threads * terms.cache_bytes, "svm_smote: its kernels");
  std::vector<std::vector<uint32_t>> found(classes);
  parallel_work(classes, task.how, [&](size_t other) {
    if (other == c)
      return;
    // The lower class first, whichever is asked for: one border of the two.
    const std::vector<uint32_t>& one = task.classes[std::min<size_t>(c, other)];
    const std::vector<uint32_t>& two = task.classes[std::max<size_t>(c, other)];
    std::vector<uint32_t> rows = one;
    rows.insert(rows.end(), two.begin(), two.end());
    found[other] = support_vectors(task.rows.features, rows, one.size(), terms,
                                   task.how.stop);
  });
  std::vector<uint32_t> out;
  for (const std::vector<uint32_t>& some : found)
    for (const uint32_t row : some)
      if (task.rows.of_row[row] == c)
        out.push_back(row);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Of a class the rows that support its border, without noise.
struct border_rows {
  std::vector<uint32_t> danger; // half of their neighbours are of others
  std::vector<uint32_t> safe;
};

border_rows sorted_border(const resampling_task& task, const class_index& index,
                          uint32_t c) {
  const std::vector<uint32_t> all = border_of(task, c);
  const uint64_t m = task.number("m_neighbors");
  const neighbour_table around = nearest(index, all, index.all(), m, task.how);
  border_rows out;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto foreign =
        uint64_t(std::ranges::count_if(around.of(i), [&](const neighbour& one) {
          return task.rows.of_row[one.row] != c;
        }));
    if (foreign < m)
      (2 * foreign >= m ? out.danger : out.safe).push_back(all[i]);
  }
  if (out.danger.empty() && out.safe.empty())
    throw ballast_error(
        errc::invalid_data,
        class_text(task.rows, c) + ": all " + std::to_string(all.size()) +
            " rows that svm_smote finds at its border have only neighbours of "
            "other classes; take more m_neighbors, or smote");
  return out;
}

/// Beta(10, 10): the tenth of nineteen even numbers in order.
double part_in_danger(const resampling_task& task, uint32_t c) {
  const counter_random random = draws_of(task.seed, c, draw_purpose::parts);
  std::array<double, 19> all{};
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = random.unit(i);
  std::sort(all.begin(), all.end());
  return all[9];
}

std::vector<made_row> border_lines(const resampling_task& task,
                                   const class_index& index,
                                   const class_target& target) {
  const uint32_t c = target.of_class;
  const auto k = neighbours_of(task, c, "k_neighbors");
  if (!k)
    return class_lines(task, c, target.rows).repeated();
  const border_rows border = sorted_border(task, index, c);
  const uint64_t inwards =
      border.safe.empty() ? target.rows
      : border.danger.empty()
          ? 0
          : uint64_t(part_in_danger(task, c) * double(target.rows + 1));
  const auto lines = [&](const std::vector<uint32_t>& rows, uint64_t count,
                         uint64_t first) {
    if (count == 0)
      return std::vector<made_row>();
    return class_lines(task, c, count, first)
        .from_any(rows, nearest(index, rows, {&c, 1}, *k, task.how));
  };
  std::vector<made_row> out = lines(border.danger, inwards, 0);
  const auto step = task.order.get<double>("out_step");
  for (made_row& one : lines(border.safe, target.rows - inwards, inwards)) {
    one.fraction *= -step;
    out.push_back(one);
  }
  return out;
}

} // namespace

resampled_rows with_border_lines(const resampling_task& task) {
  if (task.rows.of_row.size() > border_rows_max)
    throw ballast_error(errc::invalid_data,
                        "svm_smote: there are " +
                            std::to_string(task.rows.of_row.size()) +
                            " rows, and its time grows with their square or "
                            "more; expected at most " +
                            std::to_string(border_rows_max) +
                            ": take a \"sample\", or borderline_smote");
  task.need_rows(task.number("m_neighbors"), "m_neighbors");
  resampled_rows out;
  out.kept.resize(task.rows.of_row.size());
  std::iota(out.kept.begin(), out.kept.end(), 0);
  const class_index index = task.index_of_all();
  for (const class_target& one : task.targets)
    if (one.rows > 0) {
      const std::vector<made_row> some = border_lines(task, index, one);
      out.made.insert(out.made.end(), some.begin(), some.end());
    }
  out.values = drawn_lines(task, out.made);
  return out;
}

} // namespace ballast::data
