#include "data/fitting/power_lambda.hpp"

#include "data/fitting/moments.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace ballast::data {

namespace {

using graph::power_kind;

constexpr double tiny = std::numeric_limits<double>::epsilon();

/// ((x + 1)^lambda - 1) / lambda of x >= 0, and what it tends to.
double grown(double value, double lambda) {
  return std::abs(lambda) < tiny
             ? std::log1p(value)
             : std::expm1(lambda * std::log1p(value)) / lambda;
}

/// Sum of term(value) x weight, by halves.
template <class Term>
double weighted_sum(const ranked_values& values, const Term& term) {
  std::vector<double> terms;
  terms.reserve(values.sorted().size());
  for (const ranked_values::value& one : values.sorted())
    terms.push_back(term(one.is) * double(one.weight));
  return pairwise_sum(terms);
}

/// The least of a function with one minimum between `low` and `high`: parabolas
/// where they help, else golden sections (Brent 1973, chapter 5).
template <class Function>
double least_of(const Function& of, double low, double high) {
  constexpr double golden = 0.3819660112501051;
  constexpr int steps_max = 200;
  constexpr double precision = 1e-9;
  double best = low + golden * (high - low);
  double second = best;
  double third = best;
  double at_best = of(best);
  double at_second = at_best;
  double at_third = at_best;
  double step = 0;
  double step_before = 0;
  for (int i = 0; i < steps_max; ++i) {
    const double middle = 0.5 * (low + high);
    const double near = precision * std::abs(best) + 1e-12;
    if (std::abs(best - middle) <= 2 * near - 0.5 * (high - low))
      break;
    bool parabola = false;
    if (std::abs(step_before) > near) {
      const double r = (best - second) * (at_best - at_third);
      const double s = (best - third) * (at_best - at_second);
      double above = (best - third) * s - (best - second) * r;
      double below = 2 * (s - r);
      above = below > 0 ? -above : above;
      below = std::abs(below);
      if (std::abs(above) < std::abs(0.5 * below * step_before) &&
          above > below * (low - best) && above < below * (high - best)) {
        step_before = step;
        step = above / below;
        const double next = best + step;
        if (next - low < 2 * near || high - next < 2 * near)
          step = best < middle ? near : -near;
        parabola = true;
      }
    }
    if (!parabola) {
      step_before = best < middle ? high - best : low - best;
      step = golden * step_before;
    }
    const double next =
        best + (std::abs(step) >= near ? step : std::copysign(near, step));
    const double at_next = of(next);
    if (at_next <= at_best) {
      (next < best ? high : low) = best;
      third = second, at_third = at_second;
      second = best, at_second = at_best;
      best = next, at_best = at_next;
      continue;
    }
    (next < best ? low : high) = next;
    if (at_next <= at_second || second == best) {
      third = second, at_third = at_second;
      second = next, at_second = at_next;
    } else if (at_next <= at_third || third == best || third == second) {
      third = next, at_third = at_next;
    }
  }
  return best;
}

} // namespace

double power_of(power_kind kind, double value, double lambda) {
  if (kind == power_kind::box_cox)
    return std::abs(lambda) < tiny
               ? std::log(value)
               : std::expm1(lambda * std::log(value)) / lambda;
  return value >= 0 ? grown(value, lambda) : -grown(-value, 2 - lambda);
}

mean_and_deviation spread_of(power_kind kind, const ranked_values& values,
                             double lambda) {
  const auto count = double(values.count());
  mean_and_deviation out;
  out.mean =
      weighted_sum(
          values, [&](double value) { return power_of(kind, value, lambda); }) /
      count;
  out.deviation =
      std::sqrt(weighted_sum(values,
                             [&](double value) {
                               const double apart =
                                   power_of(kind, value, lambda) - out.mean;
                               return apart * apart;
                             }) /
                count);
  return out;
}

double best_lambda(power_kind kind, const ranked_values& values) {
  const auto count = double(values.count());
  const double logs = weighted_sum(values, [&](double value) {
    return kind == power_kind::box_cox
               ? std::log(value)
               : std::copysign(std::log1p(std::abs(value)), value);
  });
  const auto unlikely = [&](double lambda) {
    const double deviation = spread_of(kind, values, lambda).deviation;
    if (!(deviation > 0) || !std::isfinite(deviation))
      return std::numeric_limits<double>::max();
    return count * std::log(deviation) - (lambda - 1) * logs;
  };
  double edge = 2;
  constexpr double edge_max = 64;
  for (;; edge *= 2) {
    const double found = least_of(unlikely, -edge, edge);
    if (std::abs(found) < 0.99 * edge || edge >= edge_max)
      return found;
  }
}

double normal_quantile(double part) {
  if (part > 0.5)
    return -normal_quantile(1 - part);
  // Abramowitz and Stegun 26.2.22, then steps of Halley.
  const double t = std::sqrt(-2 * std::log(part));
  double out =
      (2.30753 + 0.27061 * t) / (1 + 0.99229 * t + 0.04481 * t * t) - t;
  for (int i = 0; i < 4; ++i) {
    const double off = 0.5 * std::erfc(-out / std::numbers::sqrt2) - part;
    const double slope =
        std::exp(-0.5 * out * out) / std::sqrt(2 * std::numbers::pi);
    const double newton = off / slope;
    out -= newton / (1 + 0.5 * out * newton);
  }
  return out;
}

} // namespace ballast::data
