/// `stop` and `keep` of a job: when it ends before its last epoch, and which
/// parameters it ends with. Plain data.
#pragma once

#include "runtime/base/words.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace ballast {

/// Which value of a metric is the better one; automatic: as the catalogue of
/// metrics says.
enum class best_mode : uint8_t { automatic, min, max };
template <>
inline constexpr auto words_of<best_mode> =
    std::to_array<std::string_view>({"auto", "min", "max"});

struct stop_spec {
  std::string metric;               // "loss" or a metric; empty: none
  std::optional<uint64_t> patience; // evaluations in a row without a better one
  double min_delta = 0;             // better by less is not better
  std::optional<double> target;     // as good as that is good enough
  std::optional<double> max_minutes;
};

struct keep_best_spec {
  std::string metric; // "loss" or a metric; empty: the last parameters are kept
  best_mode mode = best_mode::automatic;
};

struct keep_spec {
  keep_best_spec best;
};

} // namespace ballast
