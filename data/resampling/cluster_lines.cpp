// kmeans_smote: rows on lines within clusters in which a class is frequent.
#include "data/neighbours/k_means.hpp"
#include "data/resampling/class_lines.hpp"
#include "data/resampling/resampling_task.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>

namespace ballast::data {

namespace {

/// Distances between all rows of a larger cluster take too long; then it is so
/// many drawn ones.
constexpr size_t rows_for_distances = 8192;

/// Nothing: "auto".
std::optional<double> number_or_auto(const resampling_task& task,
                                     const char* option, double most) {
  const auto& said = task.order.get<std::string>(option);
  if (said == "auto")
    return std::nullopt;
  double out = 0;
  const char* end = said.data() + said.size();
  const auto read = std::from_chars(said.data(), end, out);
  if (read.ec != std::errc() || read.ptr != end || !(out >= 0) ||
      !(out <= most))
    throw ballast_error(errc::usage, std::string("--option ") + option +
                                         ": expected auto, or a number from 0 "
                                         "to " +
                                         std::to_string(int(most)) +
                                         ", found " + printable(said));
  return out;
}

/// A cluster's rows of a class, and how far apart they are.
struct dense_cluster {
  uint32_t number = 0;
  std::vector<uint32_t> rows;
  double sparsity = 0;
};

class clustered_rows {
public:
  explicit clustered_rows(const resampling_task& task)
      : task_(task),
        balance_(number_or_auto(task, "cluster_balance_threshold", 1)),
        density_(number_or_auto(task, "density_exponent", 100)),
        clusters_(task.number("n_clusters")) {
    if (clusters_ > task.rows.of_row.size())
      throw ballast_error(
          errc::invalid_data,
          "kmeans_smote: n_clusters = " + std::to_string(clusters_) +
              " needs as many rows or more, there are " +
              std::to_string(task.rows.of_row.size()));
    const std::vector<uint32_t> one(task.rows.of_row.size(), 0);
    const class_index index(task.rows.features, one, 1, {true}, task.how);
    of_row_ =
        k_means(index, 0,
                {.centres = clusters_, .rounds_max = task.number("max_iter")},
                draws_of(task.seed, 0, draw_purpose::clusters), task.how)
            .nearest;
    sizes_.resize(clusters_);
    for (const uint32_t cluster : of_row_)
      ++sizes_[cluster];
    for (const class_target& one_target : task.targets)
      wanted_ += one_target.rows;
  }

  void make(const class_target& target, std::vector<made_row>& out) const {
    const std::vector<dense_cluster> dense = dense_in(target);
    std::vector<double> weights;
    for (const dense_cluster& one : dense)
      weights.push_back(one.sparsity);
    // Clusters of equal rows alone have no extent to compare.
    if (std::ranges::all_of(weights, [](double one) { return one == 0; }))
      std::ranges::fill(weights, 1.0);
    const std::vector<uint64_t> counts = shares(weights, target.rows);
    const std::vector<uint32_t> by_cluster = numbers_of_dense(dense);
    std::vector<bool> used(dense.size() + 1, true);
    used.back() = false;
    const class_index index(task_.rows.features, by_cluster,
                            uint32_t(used.size()), used, task_.how);
    uint64_t first = 0;
    for (uint32_t i = 0; i < dense.size(); first += counts[i++]) {
      const class_lines lines(task_, target.of_class, counts[i], first);
      const std::vector<made_row> some = lines.from_any(
          dense[i].rows, nearest(index, dense[i].rows, {&i, 1},
                                 task_.number("k_neighbors"), task_.how));
      out.insert(out.end(), some.begin(), some.end());
    }
  }

private:
  /// The clusters with enough rows of a class, absolutely and by their share.
  std::vector<dense_cluster> dense_in(const class_target& target) const {
    const uint32_t c = target.of_class;
    const double least = clusters_ == 1 ? 0
                         : balance_     ? *balance_
                                    : double(target.rows) / double(wanted_) / 2;
    std::vector<std::vector<uint32_t>> rows(clusters_);
    for (const uint32_t row : task_.classes[c])
      rows[of_row_[row]].push_back(row);
    std::vector<dense_cluster> out;
    size_t frequent = 0;
    for (uint32_t i = 0; i < clusters_; ++i) {
      if (rows[i].empty() || double(rows[i].size()) / double(sizes_[i]) < least)
        continue;
      ++frequent;
      if (rows[i].size() > task_.number("k_neighbors"))
        out.push_back({i, std::move(rows[i]), 0});
    }
    if (out.empty())
      refuse(c, least, frequent);
    for (dense_cluster& one : out)
      one.sparsity = sparsity_of(one.rows, c, one.number);
    return out;
  }

  [[noreturn]] void refuse(uint32_t c, double least, size_t frequent) const {
    char share[32];
    std::snprintf(share, sizeof share, "%.4g", 100 * least);
    throw ballast_error(
        errc::invalid_data,
        class_text(task_.rows, c) +
            ": kmeans_smote finds no cluster for new "
            "rows: of " +
            std::to_string(clusters_) + " clusters, " +
            std::to_string(frequent) + " have at least " + share +
            " % of their rows in it, and none of these more than k_neighbors "
            "= " +
            std::to_string(task_.number("k_neighbors")) +
            " such rows; take a lower cluster_balance_threshold, another "
            "n_clusters, or smote");
  }

  /// The mean distance between rows to a power that grows with their number,
  /// over that number: sparse clusters get more new rows.
  double sparsity_of(const std::vector<uint32_t>& rows, uint32_t c,
                     uint32_t cluster) const {
    const auto count = double(rows.size());
    const double power =
        density_ ? *density_
                 : std::pow(std::log(count) / std::log(1.6), 1.8) * 0.16;
    return std::pow(mean_distance(some_of(rows, c, cluster)), power) / count;
  }

  std::vector<uint32_t> some_of(std::vector<uint32_t> rows, uint32_t c,
                                uint32_t cluster) const {
    if (rows.size() <= rows_for_distances)
      return rows;
    const counter_random random =
        draws_of(task_.seed, c, draw_purpose::distances);
    const uint64_t first = uint64_t{cluster} * rows_for_distances;
    for (size_t i = 0; i < rows_for_distances; ++i)
      std::swap(rows[i], rows[i + random.below(rows.size() - i, first + i)]);
    rows.resize(rows_for_distances);
    return rows;
  }

  double mean_distance(const std::vector<uint32_t>& rows) const {
    const point_view& points = task_.rows.features;
    std::vector<double> sums(rows.size());
    parallel_work(rows.size(), task_.how, [&](size_t i) {
      for (size_t j = 0; j < i; ++j)
        sums[i] += std::sqrt(squared_distance(
            points.at(rows[i]), points.at(rows[j]), points.columns));
    });
    const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
    return 2 * sum / (double(rows.size()) * double(rows.size() - 1));
  }

  /// Of each row its place among these clusters; the others have one more.
  std::vector<uint32_t>
  numbers_of_dense(const std::vector<dense_cluster>& dense) const {
    std::vector<uint32_t> out(task_.rows.of_row.size(), uint32_t(dense.size()));
    for (uint32_t i = 0; i < dense.size(); ++i)
      for (const uint32_t row : dense[i].rows)
        out[row] = i;
    return out;
  }

  const resampling_task& task_;
  const std::optional<double> balance_;
  const std::optional<double> density_;
  const size_t clusters_;
  std::vector<uint32_t> of_row_; // the cluster of each row
  std::vector<uint64_t> sizes_;  // of each cluster
  uint64_t wanted_ = 0;          // rows of all classes
};

} // namespace

resampled_rows with_cluster_lines(const resampling_task& task) {
  resampled_rows out;
  out.kept.resize(task.rows.of_row.size());
  std::iota(out.kept.begin(), out.kept.end(), 0);
  const clustered_rows clusters(task);
  for (const class_target& one : task.targets)
    if (one.rows > 0)
      clusters.make(one, out.made);
  out.values = drawn_lines(task, out.made);
  return out;
}

} // namespace ballast::data
