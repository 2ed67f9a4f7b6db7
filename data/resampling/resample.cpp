#include "data/resampling/resample.hpp"

#include "data/resampling/memory_room.hpp"
#include "data/resampling/resampling_task.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace ballast::data {

namespace {

using graph::resampling;
using graph::resampling_kind;

resampled_rows without(const std::vector<uint8_t>& gone) {
  resampled_rows out;
  for (uint32_t row = 0; row < gone.size(); ++row)
    if (gone[row] == 0)
      out.kept.push_back(row);
  return out;
}

/// The rows that smote gives, as the input of a method that cleans them all.
struct longer_rows {
  std::vector<double> values;
  std::vector<uint32_t> of_row;

  longer_rows(const labelled_rows& first, const resampled_rows& added) {
    const size_t old = first.features.rows * first.features.columns;
    values.reserve(old + added.values.size());
    values.assign(first.features.values, first.features.values + old);
    values.insert(values.end(), added.values.begin(), added.values.end());
    of_row.assign(first.of_row.begin(), first.of_row.end());
    for (const made_row& one : added.made)
      of_row.push_back(one.of_class);
  }
};

resampled_rows without(const std::vector<uint8_t>& gone, size_t columns,
                       const resampled_rows& all) {
  resampled_rows out;
  const size_t rows = all.kept.size();
  for (size_t i = 0; i < rows; ++i)
    if (gone[i] == 0)
      out.kept.push_back(all.kept[i]);
  for (size_t i = 0; i < all.made.size(); ++i) {
    if (gone[rows + i] != 0)
      continue;
    out.made.push_back(all.made[i]);
    const auto from = all.values.begin() + long(i * columns);
    out.values.insert(out.values.end(), from, from + long(columns));
  }
  return out;
}

resampled_rows lines_then_cleaned(const resampling_task& task) {
  const resampled_rows all = with_lines(task);
  const longer_rows longer(task.rows, all);
  const labelled_rows rows{.features = {longer.values.data(),
                                        longer.of_row.size(),
                                        task.rows.features.columns},
                           .of_row = longer.of_row,
                           .names = task.rows.names,
                           .label = task.rows.label};
  const resampling_task clean{
      .rows = rows,
      .order = task.order,
      .seed = task.seed,
      .how = task.how,
      .classes = by_class(rows.of_row, rows.names.size()),
      .targets = sampling_targets("all", resampling_kind::clean, rows)};
  return without(cleaned(clean), rows.features.columns, all);
}

resampled_rows done(const resampling_task& task) {
  switch (task.order.what) {
  case resampling::random_over:
    return over_sampled(task);
  case resampling::smote:
  case resampling::borderline_smote:
  case resampling::adasyn:
    return with_lines(task);
  case resampling::smotenc:
    return with_mixed_lines(task);
  case resampling::smoten:
    return with_nominal_rows(task);
  case resampling::kmeans_smote:
    return with_cluster_lines(task);
  case resampling::svm_smote:
    return with_border_lines(task);
  case resampling::random_under:
    return under_sampled(task);
  case resampling::near_miss:
    return near_missed(task);
  case resampling::cluster_centroids:
    return with_centroids(task);
  case resampling::instance_hardness:
    return without_hard(task);
  case resampling::condensed_nn:
    return without(condensed(task));
  case resampling::one_sided_selection:
    return without(one_sided(task));
  case resampling::tomek_links:
  case resampling::enn:
  case resampling::renn:
  case resampling::all_knn:
  case resampling::ncr:
    return without(cleaned(task));
  case resampling::smote_enn:
  case resampling::smote_tomek:
    return lines_then_cleaned(task);
  case resampling::smoter:
  case resampling::smogn:
    return with_range_lines(task);
  }
  return {};
}

/// "auto" names none.
std::vector<std::string> named_columns(const std::string& said) {
  if (said == "auto")
    return {};
  const nlohmann::json value = nlohmann::json::parse(said, nullptr, false);
  std::vector<std::string> out;
  bool texts = value.is_array() && !value.empty();
  for (const nlohmann::json& one : value)
    if (texts && one.is_string())
      out.push_back(one.get<std::string>());
    else
      texts = false;
  if (!texts)
    throw ballast_error(errc::usage,
                        "--option categorical_features: expected auto, or a "
                        R"(list of columns: ["city", "kind"], found )" +
                            printable(said));
  return out;
}

/// What a method that adds rows would add.
void check_added(const resampling_task& task) {
  if (graph::about(task.order.what).kind != resampling_kind::over &&
      graph::about(task.order.what).kind != resampling_kind::both)
    return; // ranges have as many rows in all as before
  uint64_t added = 0;
  for (const class_target& one : task.targets) {
    if (one.rows >= no_row || added + one.rows >= no_row)
      throw ballast_error(
          errc::usage,
          "--option sampling_strategy: " + class_text(task.rows, one.of_class) +
              " wants " + std::to_string(one.rows) +
              " rows more; expected fewer than 4 * 10^9 in "
              "all");
    added += one.rows;
  }
  check_room(
      added * (sizeof(made_row) + task.rows.features.columns * sizeof(double) +
               task.rows.categories.columns() * sizeof(uint32_t)),
      to_string(task.order.what) + ": " + std::to_string(added) + " rows more");
}

} // namespace

feature_reading reading_of(const graph::resampling_order& order) {
  const graph::resampling_about& known = graph::about(order.what);
  feature_reading out{.numbers = known.needs_numbers,
                      .categories = known.takes_categories};
  if (order.options.contains("shrinkage"))
    out.numbers = order.get<double>("shrinkage") > 0;
  if (order.options.contains("categorical_features"))
    out.named = named_columns(order.get<std::string>("categorical_features"));
  if (known.kind == resampling_kind::ranges)
    out.ranges = {.relevance = order.get<std::string>("relevance"),
                  .threshold = order.get<double>("relevance_threshold"),
                  .coefficient = order.get<double>("relevance_coefficient"),
                  .rare = *parse_word<graph::rare_values>(
                      order.get<std::string>("rare"))};
  return out;
}

resampled_rows resample(const labelled_rows& rows,
                        const graph::resampling_order& order, uint64_t seed,
                        const work_terms& how) {
  const graph::resampling_about& known = graph::about(order.what);
  const resampling_task task{
      .rows = rows,
      .order = order,
      .seed = seed,
      .how = how,
      .classes = by_class(rows.of_row, rows.names.size()),
      .targets =
          known.kind == resampling_kind::ranges
              ? range_targets(order, rows)
              : sampling_targets(order.get<std::string>("sampling_strategy"),
                                 known.kind, rows)};
  if (order.options.contains("rng") && task.draws_as_numpy() &&
      seed > UINT32_MAX)
    throw ballast_error(errc::usage,
                        "--seed: rng=numpy_mt19937 takes seeds below 2^32, "
                        "found " +
                            std::to_string(seed));
  check_added(task);
  resampled_rows out = done(task);
  if (out.kept.empty() && out.made.empty())
    throw ballast_error(errc::invalid_data,
                        to_string(order.what) + " removes all " +
                            std::to_string(rows.of_row.size()) +
                            " rows: no row has neighbours of its class; name "
                            "fewer classes in sampling_strategy, or take "
                            "another method");
  return out;
}

std::vector<bool> resampling_task::targeted() const {
  std::vector<bool> out(rows.names.size());
  for (const class_target& one : targets)
    out[one.of_class] = true;
  return out;
}

std::vector<uint32_t> resampling_task::targeted_rows() const {
  std::vector<uint32_t> out;
  for (const class_target& one : targets)
    out.insert(out.end(), classes[one.of_class].begin(),
               classes[one.of_class].end());
  return out;
}

class_index resampling_task::index_of(std::vector<bool> used) const {
  return {rows.features, rows.of_row, uint32_t(rows.names.size()),
          std::move(used), how};
}

class_index resampling_task::index_of_all() const {
  return index_of(std::vector<bool>(rows.names.size(), true));
}

void resampling_task::need_rows(uint64_t neighbours, const char* option) const {
  if (neighbours < rows.of_row.size())
    return;
  throw ballast_error(errc::invalid_data,
                      to_string(order.what) + ": " + option + " = " +
                          std::to_string(neighbours) + " needs " +
                          std::to_string(neighbours + 1) +
                          " rows or more, there are " +
                          std::to_string(rows.of_row.size()));
}

counter_random draws_of(uint64_t seed, uint32_t of_class, draw_purpose why) {
  constexpr uint64_t resampling_streams = 0x726573616d706c65; // "resample"
  return {seed, mix(mix(resampling_streams, uint64_t(why)), of_class)};
}

} // namespace ballast::data
