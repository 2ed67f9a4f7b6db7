/// `train.optimizer.lr_of`: which factor of the learning rate a parameter has.
/// Pure functions.
#pragma once

#include "runtime/job/optimizer_spec.hpp"

#include <optional>
#include <string>

namespace ballast {

constexpr double lr_factor_max = 1e6;

/// A value of the map, which is JSON; nothing: no number from 0 to the most.
std::optional<double> read_lr_factor(const std::string& text);

/// The pattern that counts for a name: of those that fit the longest, and of
/// several as long the first by alphabet. Empty: none fits.
std::string lr_pattern_of(const optimizer_spec& how, const std::string& name);

} // namespace ballast
