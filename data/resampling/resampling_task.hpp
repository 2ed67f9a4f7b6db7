/// What every method of resampling is given, and the methods themselves: one
/// function of each kind, called by resample(). For data/resampling/ only.
#pragma once

#include "data/neighbours/class_index.hpp"
#include "data/neighbours/parallel_work.hpp"
#include "data/resampling/labelled_rows.hpp"
#include "data/resampling/sampling_targets.hpp"
#include "runtime/base/random.hpp"
#include "runtime/graph/resampling_methods.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ballast::data {

struct resampling_task {
  const labelled_rows& rows;
  const graph::resampling_order& order;
  uint64_t seed;
  const work_terms& how;
  rows_by_class classes;
  std::vector<class_target> targets;

  uint64_t number(const char* option) const {
    return order.get<uint64_t>(option);
  }
  template <class Enum>
  Enum word(const char* option) const {
    return *parse_word<Enum>(order.get<std::string>(option));
  }
  bool draws_as_numpy() const {
    return word<graph::draw_source>("rng") == graph::draw_source::numpy_mt19937;
  }
  /// The classes that the strategy names, of each class.
  std::vector<bool> targeted() const;
  std::vector<uint32_t> targeted_rows() const;
  /// An index of some classes, or of all.
  class_index index_of(std::vector<bool> used) const;
  class_index index_of_all() const;
  /// Throws unless each row has so many others.
  void need_rows(uint64_t neighbours, const char* option) const;
};

/// Draws of a class: number i of what is drawn for it depends on the seed, the
/// class and i alone.
enum class draw_purpose : uint64_t {
  rows = 1,
  noise = 2,
  ties = 3,
  clusters = 4,
  distances = 5,
  parts = 6,
};
counter_random draws_of(uint64_t seed, uint32_t of_class, draw_purpose why);

/// The rows of all classes, in the order of the input.
std::vector<uint32_t> in_order(const rows_by_class& classes);

/// The deviation of each column over some rows.
std::vector<double> deviations_of(const point_view& points,
                                  const std::vector<uint32_t>& rows);

resampled_rows over_sampled(const resampling_task& task);
/// smote, borderline_smote and adasyn: rows on lines, behind all others.
resampled_rows with_lines(const resampling_task& task);
/// smotenc and smoten, likewise.
resampled_rows with_mixed_lines(const resampling_task& task);
resampled_rows with_nominal_rows(const resampling_task& task);
/// kmeans_smote, likewise.
resampled_rows with_cluster_lines(const resampling_task& task);
/// svm_smote, likewise.
resampled_rows with_border_lines(const resampling_task& task);
resampled_rows under_sampled(const resampling_task& task);
resampled_rows near_missed(const resampling_task& task);
resampled_rows with_centroids(const resampling_task& task);
/// instance_hardness.
resampled_rows without_hard(const resampling_task& task);

/// smoter and smogn: rows that are drawn, and rows on lines behind them.
resampled_rows with_range_lines(const resampling_task& task);
/// What these want of each range: how many rows it should have.
std::vector<class_target> range_targets(const graph::resampling_order& order,
                                        const labelled_rows& rows);

/// 1 for each row that goes; of the methods that clean.
std::vector<uint8_t> cleaned(const resampling_task& task);
std::vector<uint8_t> tomek_links(const class_index& index,
                                 const std::vector<bool>& targeted,
                                 const work_terms& how,
                                 std::vector<uint8_t> gone = {});
/// condensed_nn and one_sided_selection.
std::vector<uint8_t> condensed(const resampling_task& task);
std::vector<uint8_t> one_sided(const resampling_task& task);

} // namespace ballast::data
