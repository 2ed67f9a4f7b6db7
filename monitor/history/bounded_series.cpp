#include "monitor/history/bounded_series.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::monitor {

namespace {

/// Neighbours as one, `together` at a time.
std::vector<series_cell> merged(const std::vector<series_cell>& cells,
                                size_t first, size_t together) {
  std::vector<series_cell> out;
  for (size_t i = first; i < cells.size(); ++i) {
    if ((i - first) % together == 0)
      out.push_back(cells[i]);
    else
      out.back().add(cells[i]);
  }
  return out;
}

} // namespace

void series_cell::add(const series_cell& later) {
  end_ns = later.end_ns;
  end = later.end;
  count += later.count;
  sum += later.sum;
  least = std::min(least, later.least);
  most = std::max(most, later.most);
}

void bounded_series::add(int64_t t_ns, step_number step, double number) {
  if (!std::isfinite(number))
    return;
  if (!cells_.empty())
    t_ns = std::max(t_ns, cells_.back().end_ns);
  const series_cell one{t_ns, t_ns, step, step, 1, number, number, number};
  if (cells_.size() == cells_max_ && cells_.back().count == numbers_per_cell_)
    halve(); // an odd one may now be half full
  if (!cells_.empty() && cells_.back().count < numbers_per_cell_)
    cells_.back().add(one);
  else
    cells_.push_back(one);
}

void bounded_series::halve() {
  cells_ = merged(cells_, 0, 2);
  numbers_per_cell_ *= 2;
}

void bounded_series::cut_after(step_number step) {
  while (!cells_.empty() && cells_.back().begin > step)
    cells_.pop_back();
}

std::vector<series_cell> bounded_series::cells(int64_t from_ns,
                                               size_t count_max) const {
  const auto first = std::ranges::find_if(
      cells_, [&](const series_cell& one) { return one.end_ns >= from_ns; });
  const auto at = size_t(first - cells_.begin());
  const size_t left = cells_.size() - at;
  count_max = std::max<size_t>(count_max, 1);
  return merged(cells_, at,
                std::max<size_t>(1, (left + count_max - 1) / count_max));
}

} // namespace ballast::monitor
