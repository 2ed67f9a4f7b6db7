/// Every method of `ballast data resample`: what it does, and what may be said
/// to it. One table: the help, the checks of the command line and the reference
/// in docs/resampling.md come from it, and data/resampling does what it names.
/// Pure values and functions.
#pragma once

#include "runtime/base/errors.hpp"
#include "runtime/base/words.hpp"
#include "runtime/graph/operator_catalogue.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ballast::graph {

enum class resampling : uint8_t {
  random_over,
  smote,
  borderline_smote,
  adasyn,
  smotenc,
  smoten,
  kmeans_smote,
  svm_smote,
  random_under,
  near_miss,
  cluster_centroids,
  instance_hardness,
  condensed_nn,
  one_sided_selection,
  tomek_links,
  enn,
  renn,
  all_knn,
  ncr,
  smote_enn,
  smote_tomek,
  smoter,
  smogn,
};

/// What it does to the classes that `sampling_strategy` names.
enum class resampling_kind : uint8_t {
  over,   // adds rows, up to a number
  under,  // removes rows, down to a number
  clean,  // removes the rows that a rule finds, however many
  both,   // adds as `over`, then cleans all classes
  ranges, // the label is a number: adds rows to some of its ranges, and removes
          // rows of others
};

/// What becomes of a class that has no more rows than neighbours are wanted.
enum class small_class : uint8_t { error, shrink, duplicate };
enum class draw_source : uint8_t { counter, numpy_mt19937 };
enum class borderline_kind : uint8_t { one, two };
enum class agreement : uint8_t { all, mode };
enum class voting : uint8_t { soft, hard };
/// Of a number to be predicted: which of its outliers are of interest.
enum class rare_values : uint8_t { both, low, high };

struct resampling_about {
  resampling what{};
  resampling_kind kind{};
  std::string doc;
  /// How the columns but the label are read: all as numbers, all as
  /// categories, or (both) some as categories; neither: whatever they are.
  bool needs_numbers = true;
  bool takes_categories = false;
  bool makes_rows = false; // that were not in the input
  std::vector<option> options = {};
};

/// In the order of resampling.
const std::vector<resampling_about>& resampling_catalogue();
const resampling_about& about(resampling what);

/// A method with all of its options.
struct resampling_order {
  resampling what{};
  std::map<std::string, option_value> options;

  template <class T>
  const T& get(const std::string& name) const {
    return std::get<T>(options.at(name));
  }
};

struct resampling_result {
  resampling_order value;
  /// {usage}; `pointer` says of what: "/method", "/options", "/options/NAME".
  failure mistake;
};

/// From words: the method's name, and NAME=VALUE.
resampling_result parse_resampling(std::string_view method,
                                   const std::vector<std::string>& options);

/// The methods and their options as Markdown.
std::string resampling_reference();

} // namespace ballast::graph

namespace ballast {

template <>
inline constexpr auto words_of<graph::resampling> =
    std::to_array<std::string_view>({"random_over",
                                     "smote",
                                     "borderline_smote",
                                     "adasyn",
                                     "smotenc",
                                     "smoten",
                                     "kmeans_smote",
                                     "svm_smote",
                                     "random_under",
                                     "near_miss",
                                     "cluster_centroids",
                                     "instance_hardness",
                                     "condensed_nn",
                                     "one_sided_selection",
                                     "tomek_links",
                                     "enn",
                                     "renn",
                                     "all_knn",
                                     "ncr",
                                     "smote_enn",
                                     "smote_tomek",
                                     "smoter",
                                     "smogn"});
template <>
inline constexpr auto words_of<graph::resampling_kind> =
    std::to_array<std::string_view>({"over", "under", "clean", "both",
                                     "ranges"});
template <>
inline constexpr auto words_of<graph::small_class> =
    std::to_array<std::string_view>({"error", "shrink", "duplicate"});
template <>
inline constexpr auto words_of<graph::draw_source> =
    std::to_array<std::string_view>({"counter", "numpy_mt19937"});
template <>
inline constexpr auto words_of<graph::borderline_kind> =
    std::to_array<std::string_view>({"borderline-1", "borderline-2"});
template <>
inline constexpr auto words_of<graph::agreement> =
    std::to_array<std::string_view>({"all", "mode"});
template <>
inline constexpr auto words_of<graph::rare_values> =
    std::to_array<std::string_view>({"both", "low", "high"});
template <>
inline constexpr auto
    words_of<graph::voting> = std::to_array<std::string_view>({"soft", "hard"});

} // namespace ballast
