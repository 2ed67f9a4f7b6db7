#include "runtime/skew.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ballast {
namespace {

void add(std::vector<double>& to, const chunk_info& chunk, double ratio) {
  if (to.size() < chunk.label_histogram.size())
    to.resize(chunk.label_histogram.size(), 0);
  for (size_t label = 0; label < chunk.label_histogram.size(); ++label)
    to[label] += double(chunk.label_histogram[label]) * ratio;
}

double sum(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

} // namespace

std::vector<double> label_histogram(const manifest& set) {
  std::vector<double> out(histogram_bins(set.row), 0);
  for (const chunk_info& chunk : set.train)
    add(out, chunk, 1);
  return out;
}

std::vector<double> label_histogram(const manifest& set, const share& part) {
  std::vector<double> out(histogram_bins(set.row), 0);
  for (const interval& piece : part.intervals) {
    const chunk_info& chunk = set.train.at(value(piece.chunk));
    add(out, chunk, double(rows(piece)) / double(chunk.rows));
  }
  return out;
}

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
  // Rounding must not lead outside.
  return std::clamp(distance / 2, 0.0, 1.0);
}

skew_report measure_skew(const manifest& set, const plan& p) {
  skew_report out;
  std::vector<double> global = label_histogram(set);
  for (const share& part : p.shares) {
    out.by_rank.push_back(total_variation(label_histogram(set, part), global));
    out.max = std::max(out.max, out.by_rank.back());
  }
  return out;
}

} // namespace ballast
