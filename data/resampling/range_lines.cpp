// smoter and smogn: more rows where a number to be predicted is rare, fewer
// where it is usual.
#include "data/resampling/class_lines.hpp"
#include "data/resampling/resampling_task.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ballast::data {

namespace {

/// The median distance of a row is of at most so many others.
constexpr size_t rows_for_median = 8192;

/// The rows made of one range, with their numbers.
class range_rows {
public:
  range_rows(const resampling_task& task, const class_target& target)
      : task_(task), of_(target.of_class), rows_(task.classes[of_]),
        lines_(task, of_, target.rows - rows_.size()) {}

  void make(const class_index& index, resampled_rows& out) const {
    const auto k = neighbours_of(task_, of_, "k_neighbors");
    std::vector<made_row> made =
        k ? lines_.from_any(rows_,
                            nearest(index, rows_, {&of_, 1}, *k, task_.how))
          : lines_.repeated();
    std::vector<double> values = drawn_lines(task_, made);
    std::vector<double> targets(made.size());
    for (size_t i = 0; i < made.size(); ++i) {
      const double from = task_.rows.targets[made[i].parent];
      const double to = task_.rows.targets[made[i].other];
      targets[i] = from + made[i].fraction * (to - from);
    }
    if (k && task_.order.what == graph::resampling::smogn)
      move_far_ones(made, values, targets);
    out.made.insert(out.made.end(), made.begin(), made.end());
    out.values.insert(out.values.end(), values.begin(), values.end());
    out.targets.insert(out.targets.end(), targets.begin(), targets.end());
  }

private:
  /// Of a neighbour that is too far off, the row itself with noise instead.
  void move_far_ones(std::vector<made_row>& made, std::vector<double>& values,
                     std::vector<double>& targets) const {
    const std::vector<double> limits = limits_of(made);
    const point_view& points = task_.rows.features;
    const std::vector<double> spread = deviations_of(points, rows_);
    const double target_spread =
        deviations_of({task_.rows.targets.data(), points.rows, 1}, rows_)[0];
    const auto noise = task_.order.get<double>("noise");
    const counter_random random =
        draws_of(task_.seed, of_, draw_purpose::noise);
    const size_t columns = points.columns;
    for (size_t i = 0; i < made.size(); ++i) {
      const uint32_t parent = made[i].parent;
      const double apart = std::sqrt(squared_distance(
          points.at(parent), points.at(made[i].other), columns));
      if (apart <= limits[place_of(parent)])
        continue;
      made[i].other = no_row;
      made[i].fraction = 0;
      const uint64_t first = uint64_t{i} * (columns + 1);
      for (size_t c = 0; c < columns; ++c)
        values[i * columns + c] = points.at(parent)[c] +
                                  noise * spread[c] * normal(random, first + c);
      targets[i] = task_.rows.targets[parent] +
                   noise * target_spread * normal(random, first + columns);
    }
  }

  size_t place_of(uint32_t row) const {
    return size_t(std::ranges::lower_bound(rows_, row) - rows_.begin());
  }

  /// Of each row that something is made of half its median distance to the
  /// other rows of the range.
  std::vector<double> limits_of(const std::vector<made_row>& made) const {
    std::vector<uint32_t> parents;
    for (const made_row& one : made)
      parents.push_back(one.parent);
    std::sort(parents.begin(), parents.end());
    parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
    std::vector<double> out(rows_.size());
    const size_t step = (rows_.size() + rows_for_median - 1) / rows_for_median;
    const point_view& points = task_.rows.features;
    parallel_work(parents.size(), task_.how, [&](size_t p) {
      std::vector<double> squared;
      for (size_t i = 0; i < rows_.size(); i += step)
        if (rows_[i] != parents[p])
          squared.push_back(squared_distance(
              points.at(parents[p]), points.at(rows_[i]), points.columns));
      const auto middle = squared.begin() + long(squared.size() / 2);
      std::nth_element(squared.begin(), middle, squared.end());
      double median = std::sqrt(*middle);
      if (squared.size() % 2 == 0)
        median =
            (median + std::sqrt(*std::max_element(squared.begin(), middle))) /
            2;
      out[place_of(parents[p])] = median / 2;
    });
    return out;
  }

  const resampling_task& task_;
  const uint32_t of_;
  const std::vector<uint32_t>& rows_;
  const class_lines lines_;
};

} // namespace

resampled_rows with_range_lines(const resampling_task& task) {
  const bool cuts = task.order.get<bool>("under_sample");
  std::vector<std::vector<uint32_t>> kept = task.classes;
  std::vector<bool> used(task.rows.names.size());
  for (const class_target& one : task.targets) {
    std::vector<uint32_t>& rows = kept[one.of_class];
    used[one.of_class] = one.rows > rows.size();
    if (!cuts || one.rows >= rows.size())
      continue;
    const counter_random random =
        draws_of(task.seed, one.of_class, draw_purpose::rows);
    for (uint64_t i = 0; i < one.rows; ++i)
      std::swap(rows[i], rows[i + random.below(rows.size() - i, i)]);
    rows.resize(one.rows);
  }
  resampled_rows out;
  out.kept = in_order(kept);
  if (std::ranges::find(used, true) == used.end())
    return out;
  const class_index index = task.index_of(used);
  for (const class_target& one : task.targets)
    if (used[one.of_class])
      range_rows(task, one).make(index, out);
  return out;
}

std::vector<class_target> range_targets(const graph::resampling_order& order,
                                        const labelled_rows& rows) {
  const bool extreme = order.get<std::string>("sampling_strategy") == "extreme";
  std::vector<double> weights;
  for (const std::vector<uint32_t>& some :
       by_class(rows.of_row, rows.names.size()))
    weights.push_back(extreme ? 1 / double(some.size()) : 1);
  const std::vector<uint64_t> wanted = shares(weights, rows.of_row.size());
  std::vector<class_target> out;
  for (uint32_t c = 0; c < wanted.size(); ++c)
    out.push_back({c, wanted[c]});
  return out;
}

} // namespace ballast::data
