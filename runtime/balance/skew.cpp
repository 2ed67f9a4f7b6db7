#include "runtime/balance/skew.hpp"

#include "runtime/balance/shard_moves.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ballast::balance {
namespace {

double sum(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

} // namespace

double total_variation(const std::vector<double>& a,
                       const std::vector<double>& b) {
  double sum_a = sum(a), sum_b = sum(b);
  if (sum_a <= 0 || sum_b <= 0)
    return 0;
  double distance = 0;
  for (size_t label = 0; label < std::max(a.size(), b.size()); ++label) {
    double in_a = label < a.size() ? a[label] / sum_a : 0;
    double in_b = label < b.size() ? b[label] / sum_b : 0;
    distance += std::abs(in_a - in_b);
  }
  // Rounding must not leave the range.
  return std::clamp(distance / 2, 0.0, 1.0);
}

skew_report measure_skew(const ledger::manifest& set, const ledger::plan& p) {
  return measure_skew(chunk_labels(set), p);
}

skew_report measure_skew(const chunk_labels& labels, const ledger::plan& p) {
  skew_report out{skews(count_labels(labels, p))};
  for (double one : out.by_rank)
    out.max = std::max(out.max, one);
  return out;
}

} // namespace ballast::balance
