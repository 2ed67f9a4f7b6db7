/// The part of a job that says of which rows of a step the gradient is computed
/// (runtime/sampling/importance.hpp). Plain values, and their words.
#pragma once

#include "runtime/base/words.hpp"

#include <array>
#include <cstdint>

namespace ballast {

/// What a row is scored by.
enum class importance_score : uint8_t { none, loss, gradient_norm };
template <>
inline constexpr auto words_of<importance_score> =
    std::to_array<std::string_view>({"none", "loss", "gradient_norm"});

/// When rows are drawn by their scores.
enum class importance_when : uint8_t { measured, always };
template <>
inline constexpr auto words_of<importance_when> =
    std::to_array<std::string_view>({"measured", "always"});

struct importance_spec {
  importance_score by = importance_score::none;
  double keep = 0.3;  // of a worker's rows of a step, with a gradient
  double floor = 0.1; // of a row's mean chance; what its least chance is
  importance_when when = importance_when::measured;
};

} // namespace ballast
