#include "runtime/placement.hpp"

#include "runtime/random.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ballast {

namespace {

using row_lists = std::vector<std::vector<uint64_t>>;

// Streams of the job's seed, one per purpose.
constexpr uint64_t stream_iid = 0x706c61636501;
constexpr uint64_t stream_stratified = 0x706c61636502;
constexpr uint64_t stream_order = 0x706c61636503;
constexpr uint64_t stream_dirichlet = 0x706c61636504;

std::vector<uint64_t> all_rows(uint64_t rows) {
  std::vector<uint64_t> out(rows);
  std::iota(out.begin(), out.end(), uint64_t{0});
  return out;
}

/// Cuts one order of all rows into runs of the given lengths.
row_lists cut(const std::vector<uint64_t>& order,
              const std::vector<uint64_t>& counts) {
  row_lists out;
  auto at = order.begin();
  for (uint64_t count : counts) {
    out.emplace_back(at, at + ptrdiff_t(count));
    at += ptrdiff_t(count);
  }
  return out;
}

/// Gives every empty list one row of the longest.
void leave_none_empty(row_lists& lists, uint64_t rows) {
  if (rows < lists.size())
    return;
  for (std::vector<uint64_t>& list : lists) {
    if (!list.empty())
      continue;
    auto longest = std::max_element(
        lists.begin(), lists.end(),
        [](const auto& a, const auto& b) { return a.size() < b.size(); });
    list.push_back(longest->back());
    longest->pop_back();
  }
}

std::vector<std::vector<uint64_t>>
rows_by_class(std::span<const int32_t> labels, uint32_t classes,
              uint64_t rows) {
  std::vector<std::vector<uint64_t>> out(std::max(classes, 1u));
  for (uint64_t row = 0; row < rows; ++row)
    out[labels.empty() ? 0 : size_t(labels[row])].push_back(row);
  return out;
}

void shuffle_each(row_lists& lists, uint64_t seed) {
  for (size_t worker = 0; worker < lists.size(); ++worker)
    shuffle(lists[worker], counter_random(seed, mix(stream_order, worker)));
}

/// Deals the rows of class 0, then of class 1, ... like cards: every worker's
/// count of every class, and of all, is within one of every other's.
row_lists stratified(std::vector<std::vector<uint64_t>> by_class,
                     uint32_t workers, uint64_t seed) {
  row_lists out(workers);
  uint64_t dealt = 0;
  for (size_t label = 0; label < by_class.size(); ++label) {
    shuffle(by_class[label],
            counter_random(seed, mix(stream_stratified, label)));
    for (uint64_t row : by_class[label])
      out[dealt++ % workers].push_back(row);
  }
  shuffle_each(out, seed);
  return out;
}

/// The logarithm of a Gamma(alpha, 1) number. Marsaglia and Tsang, "A simple
/// method for generating gamma variables", TOMS 26(3), 2000, for alpha + 1;
/// then times U^(1/alpha): in logarithms, because that underflows at once for
/// a small alpha.
double log_gamma_number(double alpha, const counter_random& random) {
  const double d = alpha + 1 - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  uint64_t counter = 0;
  auto unit = [&] { return 1 - random.unit(counter++); }; // in (0, 1]
  const double boost = std::log(unit()) / alpha;
  for (;;) {
    const double radius = std::sqrt(-2 * std::log(unit()));
    const double x = radius * std::cos(2 * M_PI * unit());
    const double root = 1 + c * x;
    if (root <= 0)
      continue;
    const double v = root * root * root;
    if (std::log(unit()) < 0.5 * x * x + d - d * v + d * std::log(v))
      return std::log(d * v) + boost;
  }
}

row_lists dirichlet(std::vector<std::vector<uint64_t>> by_class, double alpha,
                    uint32_t workers, uint64_t seed) {
  row_lists out(workers);
  for (size_t label = 0; label < by_class.size(); ++label) {
    std::vector<double> shares(workers);
    for (uint32_t worker = 0; worker < workers; ++worker)
      shares[worker] = log_gamma_number(
          alpha,
          counter_random(mix(seed, label), mix(stream_dirichlet, worker)));
    const double largest = *std::max_element(shares.begin(), shares.end());
    for (double& share : shares)
      share = std::exp(share - largest);
    shuffle(by_class[label],
            counter_random(seed, mix(stream_stratified, label)));
    row_lists parts =
        cut(by_class[label], split_by_shares(by_class[label].size(), shares));
    for (uint32_t worker = 0; worker < workers; ++worker)
      out[worker].insert(out[worker].end(), parts[worker].begin(),
                         parts[worker].end());
  }
  return out;
}

} // namespace

std::vector<uint64_t> split_by_shares(uint64_t total,
                                      const std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<uint64_t> out(weights.size());
  std::vector<double> remainder(weights.size());
  uint64_t left = total;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double exact = double(total) * (weights[i] / sum);
    out[i] = std::min(uint64_t(exact), left);
    remainder[i] = exact - double(out[i]);
    left -= out[i];
  }
  std::vector<size_t> order(weights.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return remainder[a] > remainder[b];
  });
  for (size_t i = 0; left > 0; i = (i + 1) % order.size(), --left)
    ++out[order[i]];
  return out;
}

row_lists place_rows(const placement_spec& spec,
                     std::span<const int32_t> labels, uint32_t classes,
                     uint64_t rows, uint32_t workers, uint64_t seed) {
  const std::vector<double> equal(workers, 1.0);
  row_lists out;
  if (spec.kind == "iid") {
    std::vector<uint64_t> order = all_rows(rows);
    shuffle(order, counter_random(seed, stream_iid));
    out = cut(order, split_by_shares(rows, equal));
  } else if (spec.kind == "stratified") {
    out = stratified(rows_by_class(labels, classes, rows), workers, seed);
  } else if (spec.kind == "sorted") {
    std::vector<uint64_t> order = all_rows(rows);
    if (!labels.empty())
      std::stable_sort(order.begin(), order.end(), [&](uint64_t a, uint64_t b) {
        return labels[a] < labels[b];
      });
    out = cut(order, split_by_shares(rows, equal));
  } else if (spec.kind == "dirichlet") {
    out = dirichlet(rows_by_class(labels, classes, rows), spec.alpha, workers,
                    seed);
  } else if (spec.kind == "sizes") {
    out = cut(all_rows(rows), split_by_shares(rows, spec.shares));
  } else {
    out = cut(all_rows(rows), split_by_shares(rows, equal));
  }
  leave_none_empty(out, rows);
  return out;
}

} // namespace ballast
