/// How often a job uses each row in an epoch: field `train.sampling`.
#pragma once

#include "runtime/base/words.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ballast {

/// How often a row is used in an epoch (runtime/ledger/epoch_uses.hpp).
enum class sampling_kind : uint8_t {
  once,
  class_balanced,
  weighted,
  sources,
  stratified,
  curriculum,
};
template <>
inline constexpr auto words_of<sampling_kind> =
    std::to_array<std::string_view>({"once", "class_balanced", "weighted",
                                     "sources", "stratified", "curriculum"});

/// How the share of the rows that a curriculum uses grows.
enum class curriculum_pace : uint8_t { linear, root };
template <>
inline constexpr auto words_of<curriculum_pace> =
    std::to_array<std::string_view>({"linear", "root"});

struct sampling_spec {
  sampling_kind kind = sampling_kind::once;
  std::optional<double> beta; // class_balanced; null = inverse frequency
  std::string column;         // weighted, sources, curriculum
  /// sources: texts of the column, and for each an entry of one of the three
  /// lists below.
  std::vector<std::string> values;
  std::vector<double> proportion; // of all uses
  std::vector<double> repeat;     // uses of each of its rows
  std::vector<double> choose;     // uses of all of its rows together
  std::optional<uint64_t> rows;   // uses in an epoch; null = the rows there are
  double begin = 0.25;            // curriculum: the share of the first epoch
  std::optional<uint64_t> full;   // curriculum: the first epoch of all rows
  curriculum_pace pace = curriculum_pace::linear;

  /// Some rows are used more often than others.
  bool is_weighted() const {
    return kind == sampling_kind::class_balanced ||
           kind == sampling_kind::weighted || kind == sampling_kind::sources;
  }
  /// Weights are uses, whose sum is the length of an epoch.
  bool counts_uses() const {
    return kind == sampling_kind::sources && proportion.empty();
  }
};

} // namespace ballast
