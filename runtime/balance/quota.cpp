#include "runtime/balance/quota.hpp"

#include "runtime/balance/moves_bound.hpp"
#include "runtime/balance/quota_flow.hpp"
#include "runtime/balance/skew.hpp"
#include "runtime/base/check.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace ballast::balance {
namespace {

__extension__ using wide = unsigned __int128;

/// Of one worker and class, in units of search_effort: measured for all rounds,
/// from 30 to 100,000 cells.
constexpr uint64_t fast_cell_effort = 1'000;
constexpr uint64_t exact_cell_effort = 10'000;
/// The exact one may take one of so many parts of the effort: moving pieces
/// needs the rest.
constexpr uint64_t exact_part = 4;

uint64_t sum(const std::vector<uint64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), uint64_t{0});
}

/// Rows allowed beyond the fair ones of all classes together.
int64_t excess_limit(int64_t size, int64_t fair, double skew_tv) {
  auto budget = int64_t(std::clamp(skew_tv, 0.0, 1.0) * double(size));
  return std::max(std::min(budget, size), size - fair);
}

} // namespace

uint64_t label_counts::of_worker(size_t worker) const {
  auto first = rows.begin() + ptrdiff_t(worker * classes);
  return std::accumulate(first, first + ptrdiff_t(classes), uint64_t{0});
}

uint64_t label_counts::of_class(size_t label) const {
  uint64_t out = 0;
  for (size_t w = 0; w < workers; ++w)
    out += at(w, label);
  return out;
}

uint64_t label_counts::total() const {
  return sum(rows);
}

quota_problem::quota_problem(const quota_request& what)
    : workers(what.held.workers), classes(what.held.classes),
      cells(workers * classes), of_class(classes), holders_min(classes) {
  const label_counts& held = what.held;
  uint64_t total = held.total();
  BALLAST_CHECK(what.sizes.size() == workers && sum(what.sizes) == total,
                "sizes that are not those of the workers' rows");
  auto active = int64_t(workers) -
                std::count(what.sizes.begin(), what.sizes.end(), uint64_t{0});
  for (size_t w = 0; w < workers; ++w)
    for (size_t c = 0; c < classes; ++c)
      of_class[c] += int64_t(held.at(w, c));
  for (size_t c = 0; c < classes; ++c)
    if (of_class[c] >= int64_t(what.holders_min))
      holders_min[c] = std::min<int64_t>(what.holders_min, active);

  for (size_t w = 0; w < workers; ++w) {
    auto size = int64_t(what.sizes[w]);
    int64_t fair = 0;
    for (size_t c = 0; c < classes; ++c) {
      quota_cell& cell = at(w, c);
      cell.held = int64_t(held.at(w, c));
      if (total > 0)
        cell.fair = int64_t(wide(of_class[c]) * wide(size) / total);
      fair += cell.fair;
    }
    sizes.push_back(size);
    excess_min.push_back(size - fair);
    excess_max.push_back(excess_limit(size, fair, what.skew_tv));
  }
  start_with(excess_max);
}

void quota_problem::start_with(const std::vector<int64_t>& excess) {
  excess_max = excess;
  for (size_t w = 0; w < workers; ++w) {
    int64_t kept = 0;
    int64_t surplus = 0;
    for (size_t c = 0; c < classes; ++c) {
      const quota_cell& cell = at(w, c);
      kept += std::min(cell.held, cell.fair);
      surplus += std::max<int64_t>(0, cell.held - cell.fair);
    }
    // Every class keeps its part of the surplus that may stay.
    const int64_t stays = std::min({surplus, excess_max[w], sizes[w] - kept});
    int64_t before = 0;
    for (size_t c = 0; c < classes; ++c) {
      quota_cell& cell = at(w, c);
      cell.target = std::min(cell.held, cell.fair);
      if (cell.held <= cell.fair)
        continue;
      const int64_t after = before + cell.held - cell.fair;
      auto part = [&](int64_t of) {
        return int64_t(wide(of) * wide(stays) / wide(surplus));
      };
      cell.target += part(after) - part(before);
      before = after;
    }
  }
}

uint64_t quota_problem::moved() const {
  uint64_t out = 0;
  for (const quota_cell& cell : cells)
    out += uint64_t(std::max<int64_t>(0, cell.target - cell.held));
  return out;
}

int64_t quota_problem::holders(size_t label) const {
  int64_t out = 0;
  for (size_t w = 0; w < workers; ++w)
    out += at(w, label).target > 0;
  return out;
}

int64_t quota_problem::holders_lacking() const {
  int64_t out = 0;
  for (size_t c = 0; c < classes; ++c)
    out += std::max<int64_t>(0, holders_min[c] - holders(c));
  return out;
}

bool quota_problem::keep_all() {
  for (size_t w = 0; w < workers; ++w) {
    int64_t size = 0;
    for (size_t c = 0; c < classes; ++c)
      size += at(w, c).target = at(w, c).held;
    if (size != sizes[w])
      return false;
  }
  return covered();
}

bool quota_problem::widen_budgets(const quota_request& what,
                                  std::vector<int64_t>& widened) const {
  constexpr double rounding = 1e-9;
  const std::vector<double> budget = budget_rows(what);
  const auto total = double(what.held.total());
  bool kept = true;
  widened = excess_max;
  for (size_t w = 0; w < workers; ++w) {
    double used = 0;
    for (size_t c = 0; c < classes; ++c)
      used += std::max(0.0, double(at(w, c).target) -
                                double(of_class[c]) * double(sizes[w]) / total);
    const double left = budget[w] - used + rounding * (1 + budget[w]);
    kept = kept && left >= 0;
    widened[w] =
        std::max(excess_min[w], excess_max[w] + int64_t(std::floor(left)));
  }
  return kept;
}

label_counts quota_problem::targets() const {
  label_counts out(workers, classes);
  for (size_t i = 0; i < cells.size(); ++i)
    out.rows[i] = uint64_t(cells[i].target);
  return out;
}

uint64_t moves_bound(const quota_request& what) {
  const std::vector<double> budget = budget_rows(what);
  const auto total = double(what.held.total());
  std::vector<double> of_class;
  for (size_t c = 0; c < what.held.classes; ++c)
    of_class.push_back(double(what.held.of_class(c)));
  double leave = 0;
  double come = 0;
  for (size_t w = 0; w < what.held.workers; ++w) {
    const auto size = double(what.sizes[w]);
    double more = 0;
    double beyond = 0;
    for (size_t c = 0; c < what.held.classes; ++c) {
      const auto held = double(what.held.at(w, c));
      more += held;
      beyond += std::max(0.0, held - of_class[c] * size / total);
    }
    more -= size;
    leave += std::max({0.0, more, beyond - budget[w]});
    come += std::max(0.0, -more);
  }
  return whole_rows(std::max(leave, come));
}

uint64_t fast_quota_effort(const label_counts& held) {
  return fast_cell_effort * held.rows.size();
}

quota best_quota(const quota_request& what, size_t cells_max,
                 search_effort* effort) {
  search_effort no_limit;
  search_effort& limit = effort ? *effort : no_limit;
  quota fast = fast_quota(what);
  limit.spend(fast_quota_effort(what.held));
  if (fast.exact || what.held.workers * what.held.classes > cells_max)
    return fast;
  if (fast.covered && fast.moved <= fast.bound + fast.bound / 50)
    return fast;
  const uint64_t exact_effort = exact_cell_effort * what.held.rows.size();
  if (limit.left() / exact_part < exact_effort)
    return fast;
  limit.spend(exact_effort);
  return exact_quota(what);
}

std::vector<double> skews(const label_counts& held) {
  std::vector<double> global;
  for (size_t c = 0; c < held.classes; ++c)
    global.push_back(double(held.of_class(c)));
  std::vector<double> out;
  for (size_t w = 0; w < held.workers; ++w) {
    auto mine = held.rows.begin() + ptrdiff_t(w * held.classes);
    out.push_back(
        total_variation({mine, mine + ptrdiff_t(held.classes)}, global));
  }
  return out;
}

double skew_by_chance(const std::vector<uint64_t>& of_class, uint64_t rows) {
  double total = 0;
  for (uint64_t count : of_class)
    total += double(count);
  double sum = 0;
  for (uint64_t count : of_class) {
    double p = total > 0 ? double(count) / total : 0;
    sum += std::sqrt(p * (1 - p));
  }
  return rows == 0 ? 0 : sum / std::sqrt(2 * std::numbers::pi * double(rows));
}

double most_skew(const label_counts& held) {
  double out = 0;
  for (double one : skews(held))
    out = std::max(out, one);
  return out;
}

} // namespace ballast::balance
