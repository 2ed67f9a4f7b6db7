#include "runtime/balance/batch_split.hpp"

#include "runtime/base/check.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace ballast::balance {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// `rows` rounded down, within [0, most].
uint64_t whole(double rows, uint64_t most) {
  if (!(rows > 0)) // also NaN: 0 / 0
    return 0;
  return rows >= double(most) ? most : uint64_t(rows);
}

/// The approximate number of rows done by `deadline_s`; rounding may shift it
/// by a few.
uint64_t rows_about(const step_cost& cost, double deadline_s, uint64_t most) {
  double left_s = deadline_s - cost.fixed_s;
  if (left_s < 0)
    return 0;
  uint64_t size = cost.micro_batch_rows;
  if (size == 0 || size >= most)
    return whole(left_s / cost.per_row_s, most);
  // A full micro-batch and the start of the next one.
  double lap_s = cost.per_row_s * double(size) + cost.micro_fixed_s;
  uint64_t laps = whole(left_s / lap_s, most / size);
  double rest_s = left_s - double(laps) * lap_s;
  if (rest_s < 0)
    return laps * size;
  uint64_t rest = whole(rest_s / cost.per_row_s, size);
  return std::min(laps * size + rest, most);
}

/// The largest number of rows done by `deadline_s`, by the exact arithmetic of
/// step_cost::seconds: searches around the estimate in doubling steps.
uint64_t rows_by(const step_cost& cost, double deadline_s, uint64_t most) {
  auto in_time = [&](uint64_t rows) {
    return cost.seconds(rows) <= deadline_s;
  };
  uint64_t low = rows_about(cost, deadline_s, most); // in time, after the loop
  uint64_t high = low + 1;                           // too late, after the loop
  if (in_time(low)) {
    for (uint64_t step = 1; high <= most && in_time(high); step *= 2) {
      low = high;
      high = most - low > step ? low + step : most + 1;
    }
  } else {
    high = low;
    for (uint64_t step = 1; high > 0; step *= 2) {
      low = high > step ? high - step : 0;
      if (low == 0 || in_time(low))
        break;
      high = low;
    }
  }
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    (in_time(middle) ? low : high) = middle;
  }
  return low;
}

/// True if all workers together do `global_batch` rows by then.
bool enough_by(double deadline_s, uint64_t global_batch,
               std::span<const step_cost> workers) {
  uint64_t missing = global_batch;
  for (const step_cost& cost : workers) {
    missing -= rows_by(cost, deadline_s, missing);
    if (missing == 0)
      return true;
  }
  return false;
}

/// Water-filling with fractions of rows. As the deadline grows, every worker's
/// rows grow at 1 / per_row_s from fixed_s on. From its second micro-batch on
/// they grow more slowly, with its start-up cost spread over its rows; this
/// underestimates no worker.
double fractional_optimum_s(uint64_t global_batch,
                            std::span<const step_cost> workers) {
  struct bend {
    double at_s;
    double rows;       // done at that moment
    double rows_per_s; // additional rate from here on
  };
  std::vector<bend> bends;
  for (const step_cost& cost : workers) {
    double size = double(cost.micro_batch_rows);
    bool micro = size > 0 && cost.micro_fixed_s > 0;
    double per_s = 1 / cost.per_row_s;
    double later_per_s =
        micro ? 1 / (cost.per_row_s + cost.micro_fixed_s / size) : per_s;
    if (cost.per_row_s > 0) {
      bends.push_back({cost.fixed_s, 0, per_s});
      if (micro)
        bends.push_back(
            {cost.fixed_s + cost.per_row_s * size, 0, later_per_s - per_s});
    } else {
      bends.push_back(micro ? bend{cost.fixed_s, size, later_per_s}
                            : bend{cost.fixed_s, infinite, 0});
    }
  }
  std::sort(bends.begin(), bends.end(),
            [](const bend& a, const bend& b) { return a.at_s < b.at_s; });
  double done = 0;
  double rows_per_s = 0;
  for (size_t i = 0; i < bends.size(); ++i) {
    done += bends[i].rows;
    rows_per_s += bends[i].rows_per_s;
    double until_s = i + 1 < bends.size() ? bends[i + 1].at_s : infinite;
    double missing = double(global_batch) - done;
    if (missing <= 0)
      return bends[i].at_s;
    double needed_s = missing / rows_per_s;
    if (bends[i].at_s + needed_s <= until_s)
      return bends[i].at_s + needed_s;
    done += rows_per_s * (until_s - bends[i].at_s);
  }
  return infinite; // never reached: the last segment is unbounded
}

/// The earliest moment at which all workers together can be done. Non-negative
/// doubles have the order of their bit patterns, so bisecting those finds the
/// exact value in 62 steps, however large or small it is.
double earliest_end_s(uint64_t global_batch, std::span<const step_cost> workers,
                      double bound_s) {
  double too_early_s = bound_s * (1 - 1e-9);
  if (enough_by(too_early_s, global_batch, workers)) {
    if (too_early_s <= 0)
      return 0;
    too_early_s = 0;
    if (enough_by(0, global_batch, workers))
      return 0;
  }
  double all_by_one_s = infinite;
  for (const step_cost& cost : workers)
    all_by_one_s = std::min(all_by_one_s, cost.seconds(global_batch));
  double enough_s = all_by_one_s;
  for (double more = 1e-3; more < 1; more *= 4) {
    double guess_s = bound_s * (1 + more);
    if (guess_s >= all_by_one_s)
      break;
    if (enough_by(guess_s, global_batch, workers)) {
      enough_s = guess_s;
      break;
    }
    too_early_s = std::max(too_early_s, guess_s);
  }
  auto low = std::bit_cast<uint64_t>(too_early_s);
  auto high = std::bit_cast<uint64_t>(enough_s);
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    bool enough =
        enough_by(std::bit_cast<double>(middle), global_batch, workers);
    (enough ? high : low) = middle;
  }
  return std::bit_cast<double>(high);
}

/// Splits `total` as evenly as the least and most of each worker allow, odd
/// rows to the lowest workers.
std::vector<uint64_t> level(uint64_t total, const std::vector<uint64_t>& least,
                            const std::vector<uint64_t>& most) {
  auto at = [&](uint64_t height, size_t w) {
    return std::clamp(height, least[w], most[w]);
  };
  auto fits = [&](uint64_t height) {
    uint64_t left = total;
    for (size_t w = 0; w < least.size(); ++w) {
      if (at(height, w) > left)
        return false;
      left -= at(height, w);
    }
    return true;
  };
  uint64_t low = 0;
  uint64_t high = total + 1;
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  std::vector<uint64_t> out;
  uint64_t left = total;
  for (size_t w = 0; w < least.size(); ++w) {
    out.push_back(at(low, w));
    left -= out.back();
  }
  for (size_t w = 0; w < least.size() && left > 0; ++w)
    if (out[w] == low && out[w] < most[w]) {
      ++out[w];
      --left;
    }
  return out;
}

} // namespace

double step_cost::seconds(uint64_t rows) const {
  if (rows == 0)
    return 0;
  uint64_t further = micro_batch_rows == 0 ? 0 : (rows - 1) / micro_batch_rows;
  return fixed_s + per_row_s * double(rows) + micro_fixed_s * double(further);
}

double makespan_s(std::span<const step_cost> workers,
                  std::span<const uint64_t> rows) {
  double out = 0;
  for (size_t w = 0; w < workers.size(); ++w)
    out = std::max(out, workers[w].seconds(rows[w]));
  return out;
}

batch_split split_by_cost(uint64_t global_batch,
                          std::span<const step_cost> workers) {
  BALLAST_CHECK(!workers.empty(), "nobody to split a batch among");
  for (const step_cost& cost : workers)
    BALLAST_CHECK(cost.fixed_s >= 0 && cost.per_row_s >= 0 &&
                      cost.micro_fixed_s >= 0 && cost.fixed_s < infinite &&
                      cost.per_row_s < infinite &&
                      cost.micro_fixed_s < infinite,
                  "a cost is negative or no number");
  batch_split out;
  out.rows.assign(workers.size(), 0);
  if (global_batch == 0)
    return out;
  out.bound_s = fractional_optimum_s(global_batch, workers);
  double end_s = earliest_end_s(global_batch, workers, out.bound_s);
  // The last rows may end at the same moment on several workers, or cost
  // nothing: divide those evenly.
  double before_s = std::nextafter(end_s, -1.0);
  std::vector<uint64_t> least, most;
  for (const step_cost& cost : workers) {
    least.push_back(before_s < 0 ? 0 : rows_by(cost, before_s, global_batch));
    most.push_back(rows_by(cost, end_s, global_batch));
  }
  out.rows = level(global_batch, least, most);
  out.makespan_s = makespan_s(workers, out.rows);
  out.bound_s = std::min(out.bound_s, out.makespan_s); // up to rounding
  return out;
}

} // namespace ballast::balance
