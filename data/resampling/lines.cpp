// Rows on the lines between others: smote, borderline_smote, adasyn.
#include "data/neighbours/nearest.hpp"
#include "data/resampling/numpy_random.hpp"
#include "data/resampling/resampling_task.hpp"
#include "runtime/base/errors.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace ballast::data {

namespace {

using graph::resampling;
using graph::small_class;

/// Numbers of a made row.
constexpr uint64_t draws_of_a_row = 4;

/// How many neighbours rows of a class can have; nothing: its rows are
/// repeated.
std::optional<size_t> neighbours_of(const resampling_task& task, uint32_t c,
                                    const char* option) {
  const uint64_t wanted = task.number(option);
  const size_t rows = task.classes[c].size();
  if (rows > wanted)
    return wanted;
  const auto policy = task.word<small_class>("k_policy");
  if (policy == small_class::duplicate && rows > 0)
    return std::nullopt;
  if (policy == small_class::shrink && rows > 1)
    return rows - 1;
  throw ballast_error(
      errc::invalid_data,
      class_text(task.rows, c) + " has " + std::to_string(rows) +
          (rows == 1 ? " row, " : " rows, ") + option + " = " +
          std::to_string(wanted) + " needs " + std::to_string(wanted + 1) +
          " or more; take a smaller one, k_policy=shrink" +
          (rows == 1 ? " (of 2 rows or more)" : "") +
          ", k_policy=duplicate, or random_over");
}

/// The rows made of one class.
class class_lines {
public:
  class_lines(const resampling_task& task, const class_target& target)
      : task_(task), of_(target.of_class), count_(target.rows),
        random_(draws_of(task.seed, of_, draw_purpose::rows)) {}

  std::vector<made_row> repeated() const {
    const std::vector<uint32_t>& rows = task_.classes[of_];
    std::vector<made_row> out(count_);
    for (uint64_t i = 0; i < count_; ++i) {
      const uint32_t row = rows[random_.below(rows.size(), draws_of_a_row * i)];
      out[i] = {of_, row, row, 0};
    }
    return out;
  }

  /// Each from any row, to any of its neighbours.
  std::vector<made_row> from_any(std::span<const uint32_t> rows,
                                 const neighbour_table& table) const {
    std::vector<made_row> out(count_);
    const uint64_t lines = uint64_t{rows.size()} * table.most;
    const auto line = [&](uint64_t which, double fraction) {
      const uint64_t from = which / table.most;
      return made_row{of_, rows[from], table.of(from)[which % table.most].row,
                      fraction};
    };
    if (task_.order.options.contains("rng") && task_.draws_as_numpy()) {
      numpy_random numpy{uint32_t(task_.seed)};
      std::vector<uint64_t> which(count_);
      for (uint64_t& one : which)
        one = numpy.below(lines);
      for (uint64_t i = 0; i < count_; ++i)
        out[i] = line(which[i], numpy.unit());
      return out;
    }
    for (uint64_t i = 0; i < count_; ++i)
      out[i] = line(random_.below(lines, draws_of_a_row * i),
                    random_.unit(draws_of_a_row * i + 1));
    return out;
  }

  /// So many from each row.
  std::vector<made_row> from_each(std::span<const uint32_t> rows,
                                  std::span<const uint64_t> counts,
                                  const neighbour_table& table) const {
    std::vector<made_row> out;
    out.reserve(count_);
    for (size_t from = 0; from < rows.size(); ++from)
      for (uint64_t n = 0; n < counts[from]; ++n) {
        const uint64_t i = draws_of_a_row * out.size();
        out.push_back({of_, rows[from],
                       table.of(from)[random_.below(table.most, i)].row,
                       random_.unit(i + 1)});
      }
    return out;
  }

  /// Of lines to other classes the first half.
  void shorten(std::vector<made_row>& lines) const {
    for (uint64_t i = 0; i < lines.size(); ++i)
      if (task_.rows.of_row[lines[i].other] != of_)
        lines[i].fraction *= random_.unit(draws_of_a_row * i + 2) / 2;
  }

private:
  const resampling_task& task_;
  const uint32_t of_;
  const uint64_t count_;
  const counter_random random_;
};

/// How many of a row's neighbours are of other classes.
std::vector<uint64_t> foreign_counts(const resampling_task& task,
                                     const neighbour_table& table, uint32_t c) {
  std::vector<uint64_t> out(task.classes[c].size());
  for (size_t i = 0; i < out.size(); ++i)
    for (const neighbour& one : table.of(i))
      out[i] += one.row != no_row && task.rows.of_row[one.row] != c ? 1 : 0;
  return out;
}

/// `total` by these weights, exactly: the largest remainders get what rounding
/// down leaves, of equal ones the first.
std::vector<uint64_t> shares(const std::vector<uint64_t>& weights,
                             uint64_t total) {
  const uint64_t sum =
      std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  __extension__ using wide = unsigned __int128;
  std::vector<uint64_t> out(weights.size());
  std::vector<std::pair<uint64_t, size_t>> rests;
  uint64_t left = total;
  for (size_t i = 0; i < weights.size(); ++i) {
    const wide product = wide(total) * weights[i];
    out[i] = uint64_t(product / sum);
    left -= out[i];
    rests.emplace_back(sum - uint64_t(product % sum), i);
  }
  std::sort(rests.begin(), rests.end());
  for (uint64_t i = 0; i < left; ++i)
    ++out[rests[i].second];
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
  const class_lines lines(task, target);
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
  const class_lines lines(task, target);
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
  const class_lines lines(task, target);
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

/// The values of made rows, each from the two at the ends of its line.
std::vector<double> drawn_lines(const resampling_task& task,
                                const std::vector<made_row>& made) {
  const point_view& points = task.rows.features;
  std::vector<double> out(made.size() * points.columns);
  constexpr size_t piece = 4096;
  parallel_work((made.size() + piece - 1) / piece, task.how, [&](size_t p) {
    for (size_t i = p * piece; i < std::min((p + 1) * piece, made.size());
         ++i) {
      const double* from = points.at(made[i].parent);
      const double* to = points.at(made[i].other);
      double* at = out.data() + i * points.columns;
      for (size_t c = 0; c < points.columns; ++c)
        at[c] = from[c] + made[i].fraction * (to[c] - from[c]);
    }
  });
  return out;
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
