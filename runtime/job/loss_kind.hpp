/// The losses that a job can train with, and what each takes the label for.
/// Their formulas are in gpu/torch/objective.hpp. Pure values.
#pragma once

#include "runtime/base/words.hpp"

#include <array>
#include <cstdint>

namespace ballast {

enum class loss_kind : uint8_t {
  cross_entropy,
  bce,
  hinge,
  mse,
  huber,
  next_token,
};
template <>
inline constexpr auto words_of<loss_kind> = std::to_array<std::string_view>(
    {"cross_entropy", "bce", "hinge", "mse", "huber", "next_token"});

/// The label is one of two classes, and the model has one output.
constexpr bool is_of_two_classes(loss_kind what) {
  return what == loss_kind::bce || what == loss_kind::hinge;
}
constexpr bool is_of_classes(loss_kind what) {
  return what == loss_kind::cross_entropy || is_of_two_classes(what);
}
/// The label is a number.
constexpr bool is_of_numbers(loss_kind what) {
  return what == loss_kind::mse || what == loss_kind::huber;
}
/// A sum over classes or tokens, of which each can be given a part.
constexpr bool can_smooth_labels(loss_kind what) {
  return what == loss_kind::cross_entropy || what == loss_kind::bce ||
         what == loss_kind::next_token;
}
/// The model says how likely each class is.
constexpr bool has_probabilities(loss_kind what) {
  return what == loss_kind::cross_entropy || what == loss_kind::bce;
}

} // namespace ballast
