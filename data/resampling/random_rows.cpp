// Rows that are drawn: random_over and random_under.
#include "data/resampling/numpy_random.hpp"
#include "data/resampling/resampling_task.hpp"
#include "runtime/base/errors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ballast::data {

std::vector<uint32_t> in_order(const rows_by_class& classes) {
  std::vector<uint32_t> out;
  for (const std::vector<uint32_t>& rows : classes)
    out.insert(out.end(), rows.begin(), rows.end());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<double> deviations_of(const point_view& points,
                                  const std::vector<uint32_t>& rows) {
  std::vector<double> mean(points.columns), out(points.columns);
  for (const uint32_t row : rows)
    for (size_t c = 0; c < points.columns; ++c)
      mean[c] += points.at(row)[c] / double(rows.size());
  for (const uint32_t row : rows)
    for (size_t c = 0; c < points.columns; ++c) {
      const double apart = points.at(row)[c] - mean[c];
      out[c] += apart * apart / double(rows.size());
    }
  for (double& one : out)
    one = std::sqrt(one);
  return out;
}

namespace {

/// Silverman's bandwidth for a normal kernel, with all rows of the input as
/// imbalanced-learn has it.
double bandwidth(const point_view& points) {
  const auto d = double(points.columns);
  return std::pow(4 / ((d + 2) * double(points.rows)), 1 / (d + 4));
}

/// Drawn rows, each moved by noise of its own.
void add_moved(const resampling_task& task, uint32_t of_class,
               const std::vector<uint32_t>& drawn, double shrinkage,
               resampled_rows& out) {
  const point_view& points = task.rows.features;
  const double width = shrinkage * bandwidth(points);
  const std::vector<double> deviation =
      deviations_of(points, task.classes[of_class]);
  const counter_random noise =
      draws_of(task.seed, of_class, draw_purpose::noise);
  const size_t before = out.values.size();
  out.values.resize(before + drawn.size() * points.columns);
  parallel_work((drawn.size() + 1023) / 1024, task.how, [&](size_t p) {
    for (size_t i = p * 1024; i < std::min((p + 1) * 1024, drawn.size()); ++i)
      for (size_t c = 0; c < points.columns; ++c) {
        const size_t at = i * points.columns + c;
        out.values[before + at] =
            points.at(drawn[i])[c] + width * deviation[c] * normal(noise, at);
      }
  });
  for (const uint32_t row : drawn)
    out.made.push_back({of_class, row, no_row, 0});
}

} // namespace

resampled_rows over_sampled(const resampling_task& task) {
  const auto shrinkage = task.order.get<double>("shrinkage");
  const bool as_numpy = task.draws_as_numpy();
  if (shrinkage > 0 && as_numpy)
    throw ballast_error(errc::usage, "--option shrinkage: not together with "
                                     "rng=numpy_mt19937; expected "
                                     "rng=counter");
  if (shrinkage > 0 && task.rows.features.values == nullptr)
    throw ballast_error(errc::usage,
                        "--option shrinkage: the rows have no columns of "
                        "numbers to move; expected 0");
  numpy_random numpy{uint32_t(task.seed)};
  resampled_rows out;
  out.kept.resize(task.rows.of_row.size());
  std::iota(out.kept.begin(), out.kept.end(), 0);
  for (const class_target& one : task.targets) {
    const std::vector<uint32_t>& rows = task.classes[one.of_class];
    const counter_random random =
        draws_of(task.seed, one.of_class, draw_purpose::rows);
    std::vector<uint32_t> drawn(one.rows);
    for (uint64_t i = 0; i < one.rows; ++i)
      drawn[i] = rows[as_numpy ? numpy.below(rows.size())
                               : random.below(rows.size(), i)];
    if (shrinkage > 0)
      add_moved(task, one.of_class, drawn, shrinkage, out);
    else
      out.kept.insert(out.kept.end(), drawn.begin(), drawn.end());
  }
  return out;
}

resampled_rows under_sampled(const resampling_task& task) {
  const bool as_numpy = task.draws_as_numpy();
  const bool replacement = task.order.get<bool>("replacement");
  numpy_random numpy{uint32_t(task.seed)};
  resampled_rows out;
  std::vector<std::vector<uint32_t>> kept = task.classes;
  for (const class_target& one : task.targets) {
    const std::vector<uint32_t>& rows = task.classes[one.of_class];
    const counter_random random =
        draws_of(task.seed, one.of_class, draw_purpose::rows);
    std::vector<uint32_t>& chosen = kept[one.of_class];
    if (replacement) {
      chosen.resize(one.rows);
      for (uint64_t i = 0; i < one.rows; ++i)
        chosen[i] = rows[as_numpy ? numpy.below(rows.size())
                                  : random.below(rows.size(), i)];
      continue;
    }
    if (as_numpy) {
      const std::vector<uint32_t> order =
          numpy.permutation(uint32_t(rows.size()));
      for (size_t i = 0; i < one.rows; ++i)
        chosen[i] = rows[order[i]];
    } else {
      // The first rows of a shuffle; the rest of it is not needed.
      for (uint64_t i = 0; i < one.rows; ++i)
        std::swap(chosen[i], chosen[i + random.below(chosen.size() - i, i)]);
    }
    chosen.resize(one.rows);
  }
  for (const std::vector<uint32_t>& some : kept)
    out.kept.insert(out.kept.end(), some.begin(), some.end());
  if (!as_numpy) // there class by class, as imbalanced-learn has them
    std::sort(out.kept.begin(), out.kept.end());
  return out;
}

} // namespace ballast::data
