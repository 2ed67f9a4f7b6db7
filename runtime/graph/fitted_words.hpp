/// The words that options of fitted operators take. Pure values.
#pragma once

#include "runtime/base/words.hpp"

#include <cstdint>

namespace ballast::graph {

/// What `impute` puts where a value is missing.
enum class impute_kind : uint8_t {
  drop,
  constant,
  mean,
  median,
  mode,
  forward,
  knn,
};
/// Of `knn`: how much each of the neighbours counts.
enum class neighbour_weights : uint8_t { uniform, distance };
enum class power_kind : uint8_t { yeo_johnson, box_cox };
enum class distribution_kind : uint8_t { uniform, normal };
/// How `clip_outliers` measures how far off a value is, and what it does then.
enum class outlier_kind : uint8_t { z, mad, iqr };
enum class outlier_action : uint8_t { clip, remove, mark };
enum class bin_kind : uint8_t { equal_width, quantile };
/// What becomes of a category that no training row has.
enum class unseen_kind : uint8_t { error, ignore, other };
enum class date_part : uint8_t {
  year,
  month,
  day,
  weekday,
  yearday,
  hour,
  minute,
  second,
};
/// What the tokens of a text are made of.
enum class token_unit : uint8_t { words, characters };
enum class norm_kind : uint8_t { l2, l1, none };
enum class selection_kind : uint8_t {
  variance,
  correlation,
  chi2,
  mutual_information,
};

} // namespace ballast::graph

namespace ballast {

template <>
inline constexpr auto words_of<graph::impute_kind> =
    std::to_array<std::string_view>({"drop", "constant", "mean", "median",
                                     "mode", "forward", "knn"});
template <>
inline constexpr auto words_of<graph::neighbour_weights> =
    std::to_array<std::string_view>({"uniform", "distance"});
template <>
inline constexpr auto words_of<graph::power_kind> =
    std::to_array<std::string_view>({"yeo_johnson", "box_cox"});
template <>
inline constexpr auto words_of<graph::distribution_kind> =
    std::to_array<std::string_view>({"uniform", "normal"});
template <>
inline constexpr auto words_of<graph::outlier_kind> =
    std::to_array<std::string_view>({"z", "mad", "iqr"});
template <>
inline constexpr auto words_of<graph::outlier_action> =
    std::to_array<std::string_view>({"clip", "remove", "mark"});
template <>
inline constexpr auto words_of<graph::bin_kind> =
    std::to_array<std::string_view>({"equal_width", "quantile"});
template <>
inline constexpr auto words_of<graph::unseen_kind> =
    std::to_array<std::string_view>({"error", "ignore", "other"});
template <>
inline constexpr auto words_of<graph::date_part> =
    std::to_array<std::string_view>({"year", "month", "day", "weekday",
                                     "yearday", "hour", "minute", "second"});
template <>
inline constexpr auto words_of<graph::token_unit> =
    std::to_array<std::string_view>({"words", "characters"});
template <>
inline constexpr auto words_of<graph::norm_kind> =
    std::to_array<std::string_view>({"l2", "l1", "none"});
template <>
inline constexpr auto words_of<graph::selection_kind> =
    std::to_array<std::string_view>({"variance", "correlation", "chi2",
                                     "mutual_information"});

} // namespace ballast
