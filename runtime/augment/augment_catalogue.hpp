/// What can be done to images when a batch is put together (`data.augment`):
/// each operator, and what may be said to it. One table: validation, JSON
/// Schema and the reference of the job come from it, and data/augment does what
/// it names. Pure values.
#pragma once

#include "runtime/base/words.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ballast::augment {

enum class op : uint8_t {
  crop,
  resized_crop,
  flip,
  rotate,
  colour,
  normalise,
};

/// What a flip swaps: left and right, or top and bottom.
enum class axis : uint8_t { horizontal, vertical };

/// A value of an option; its alternative is the option's type. The list of
/// whole numbers is a size.
using option_value = std::variant<uint64_t, double, std::string,
                                  std::vector<uint32_t>, std::vector<double>>;

struct option {
  std::string name;
  std::string doc;
  /// Its type, and what it is where nothing is said.
  option_value usual;
  bool required = false;
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  bool low_excluded = false;
  /// Of a list; one number alone stands for all where there may be one.
  size_t items_min = 1;
  size_t items_max = 3;
  /// Of a text.
  std::vector<std::string> words = {};
};

struct operator_about {
  op what{};
  std::string doc;
  std::vector<option> options = {};
};

/// In the order of op.
const std::vector<operator_about>& operator_catalogue();
const operator_about& about(op what);
/// Null: it has no option of this name.
const option* find_option(op what, std::string_view name);

} // namespace ballast::augment

namespace ballast {

template <>
inline constexpr auto words_of<augment::op> = std::to_array<std::string_view>(
    {"crop", "resized_crop", "flip", "rotate", "colour", "normalise"});
template <>
inline constexpr auto words_of<augment::axis> =
    std::to_array<std::string_view>({"horizontal", "vertical"});

} // namespace ballast
