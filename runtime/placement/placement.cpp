#include "runtime/placement/placement.hpp"

#include "runtime/base/check.hpp"
#include "runtime/placement/generators.hpp"
#include "runtime/placement/whole_groups.hpp"

#include <algorithm>
#include <numeric>

namespace ballast::placement {

namespace {

failure mistake(const char* field, const std::string& what) {
  const std::string pointer = std::string("/data/placement/") + field;
  return {errc::invalid_data, pointer + ": " + what, pointer};
}

std::string n(uint64_t number) {
  return std::to_string(number);
}

failure classes_mistake(uint32_t per_worker,
                        const std::vector<uint64_t>& class_rows,
                        uint32_t workers) {
  const uint64_t there =
      class_rows.size() -
      uint64_t(std::count(class_rows.begin(), class_rows.end(), uint64_t{0}));
  if (per_worker > there)
    return mistake("classes_per_worker",
                   "a worker cannot have " + n(per_worker) +
                       " different classes of " + n(there) +
                       "; expected at most that");
  if (there > uint64_t{per_worker} * workers)
    return mistake("classes_per_worker",
                   n(there) + " classes do not fit on " + n(workers) +
                       " workers with " + n(per_worker) +
                       " each; expected at least " +
                       n((there + workers - 1) / workers));
  return {};
}

failure matrix_mistake(const std::vector<std::vector<double>>& matrix,
                       const std::vector<uint64_t>& class_rows) {
  for (size_t worker = 0; worker < matrix.size(); ++worker)
    if (matrix[worker].size() != class_rows.size())
      return mistake("matrix",
                     "row " + n(worker) + " has " + n(matrix[worker].size()) +
                         " weights, the data have " + n(class_rows.size()) +
                         " classes; expected one for each");
  for (size_t label = 0; label < class_rows.size(); ++label)
    if (class_rows[label] > 0 &&
        std::all_of(matrix.begin(), matrix.end(),
                    [&](const auto& row) { return row[label] == 0; }))
      return mistake("matrix",
                     "column " + n(label) + " is all 0, but the data have " +
                         n(class_rows[label]) + " rows of class " + n(label) +
                         "; give somebody a weight above 0");
  return {};
}

row_lists place(const placement_spec& spec, const placement_rows& of,
                uint32_t workers, uint64_t seed) {
  const std::vector<double> equal(workers, 1.0);
  switch (spec.kind) {
  case placement_kind::contiguous:
    return place_in_order(of, equal);
  case placement_kind::iid:
    return place_shuffled(of, equal, seed);
  case placement_kind::sizes:
    return place_in_order(of, spec.shares);
  case placement_kind::lognormal:
    return place_shuffled(of, lognormal_weights(spec.sigma, workers, seed),
                          seed);
  case placement_kind::linear:
  case placement_kind::square:
  case placement_kind::exponential:
    return place_shuffled(of, rising_weights(spec.kind, workers), seed);
  case placement_kind::stratified:
    return place_stratified(of, workers, seed);
  case placement_kind::sorted:
    return place_sorted(of, workers);
  case placement_kind::shards:
    return place_shards(of, spec.shards_per_worker, workers, seed);
  case placement_kind::classes:
    return place_classes(of, spec.classes_per_worker, workers, seed);
  case placement_kind::matrix:
    return place_by_matrix(of, spec.matrix, seed);
  case placement_kind::dirichlet:
    return place_dirichlet(of, spec.alpha, spec.balanced, workers, seed);
  case placement_kind::inner_dirichlet:
    return place_inner_dirichlet(
        of, spec.alpha,
        split_by_shares(of.rows, spec.shares.empty() ? equal : spec.shares),
        seed);
  case placement_kind::column:
    return place_groups(of, workers);
  case placement_kind::continuous:
    return place_continuous(of, spec.strictness, workers, seed);
  }
  BALLAST_CHECK(false, "a placement of no kind");
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

failure placement_mistake(const placement_spec& spec, const placement_rows& of,
                          uint32_t workers) {
  const size_t groups = different_groups(of.groups);
  if (!of.groups.empty() && groups < workers)
    return {errc::invalid_data,
            "/balance/group: " + n(groups) + " groups are too few for " +
                n(workers) + " workers; take another column, or fewer workers",
            "/balance/group"};
  if (spec.kind == placement_kind::dirichlet && spec.min_rows > 1 &&
      of.rows / workers < spec.min_rows)
    return mistake("min_rows", n(of.rows) + " rows are too few for " +
                                   n(spec.min_rows) + " on each of " +
                                   n(workers) + " workers; expected at most " +
                                   n(of.rows / workers));
  if (spec.kind == placement_kind::classes)
    return classes_mistake(spec.classes_per_worker, class_sizes(of), workers);
  if (spec.kind == placement_kind::matrix)
    return matrix_mistake(spec.matrix, class_sizes(of));
  if (spec.kind == placement_kind::column && count_groups(of) < workers)
    return mistake("column",
                   "the column \"" + spec.column + "\" has " +
                       n(count_groups(of)) + " different values, too few for " +
                       n(workers) + " workers; take another, or fewer workers");
  return {};
}

row_lists place_rows(const placement_spec& spec, const placement_rows& of,
                     uint32_t workers, uint64_t seed) {
  row_lists out = place(spec, of, workers, seed);
  leave_at_least(out,
                 spec.kind == placement_kind::dirichlet ? spec.min_rows : 1);
  if (!of.groups.empty())
    out = with_whole_groups(out, of.groups);
  return out;
}

} // namespace ballast::placement
