#include "data/resampling/class_lines.hpp"

#include "data/resampling/numpy_random.hpp"
#include "runtime/base/errors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace ballast::data {

namespace {

using graph::small_class;

/// Numbers of a made row.
constexpr uint64_t draws_of_a_row = 4;

} // namespace

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

class_lines::class_lines(const resampling_task& task, uint32_t of_class,
                         uint64_t count, uint64_t first)
    : task_(task), of_(of_class), count_(count), first_(first),
      random_(draws_of(task.seed, of_, draw_purpose::rows)) {}

uint64_t class_lines::number_of(uint64_t i) const {
  return draws_of_a_row * (first_ + i);
}

std::vector<made_row> class_lines::repeated() const {
  const std::vector<uint32_t>& rows = task_.classes[of_];
  std::vector<made_row> out(count_);
  for (uint64_t i = 0; i < count_; ++i) {
    const uint32_t row = rows[random_.below(rows.size(), number_of(i))];
    out[i] = {of_, row, row, 0};
  }
  return out;
}

std::vector<made_row>
class_lines::from_any(std::span<const uint32_t> rows,
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
    out[i] = line(random_.below(lines, number_of(i)),
                  random_.unit(number_of(i) + 1));
  return out;
}

std::vector<made_row>
class_lines::from_each(std::span<const uint32_t> rows,
                       std::span<const uint64_t> counts,
                       const neighbour_table& table) const {
  std::vector<made_row> out;
  out.reserve(count_);
  for (size_t from = 0; from < rows.size(); ++from)
    for (uint64_t n = 0; n < counts[from]; ++n) {
      const uint64_t i = number_of(out.size());
      out.push_back({of_, rows[from],
                     table.of(from)[random_.below(table.most, i)].row,
                     random_.unit(i + 1)});
    }
  return out;
}

void class_lines::shorten(std::vector<made_row>& lines) const {
  for (uint64_t i = 0; i < lines.size(); ++i)
    if (task_.rows.of_row[lines[i].other] != of_)
      lines[i].fraction *= random_.unit(number_of(i) + 2) / 2;
}

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

std::vector<uint64_t> shares(const std::vector<double>& weights,
                             uint64_t total) {
  const double most = *std::ranges::max_element(weights);
  // Whole numbers from here on, so that their sum is exact. Of weights that are
  // furthest apart the smallest become 0.
  constexpr double steps = 0x1p40;
  std::vector<uint64_t> whole(weights.size());
  for (size_t i = 0; i < weights.size(); ++i)
    whole[i] = uint64_t(weights[i] / most * steps);
  return shares(whole, total);
}

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

} // namespace ballast::data
