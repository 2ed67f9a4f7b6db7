/// The steps of `data.augment` as they are written, and what becomes of the
/// shape of a row. Pure values; mistakes are returned with their JSON pointer.
#pragma once

#include "runtime/augment/augment_catalogue.hpp"
#include "runtime/base/errors.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace ballast::augment {

struct step {
  op what{};
  /// Those of the operator's catalogue.
  std::map<std::string, option_value> options;

  bool operator==(const step&) const = default;
};

/// The place of an option's value, made with its usual value where there is
/// none yet. Precondition: the operator has this option.
option_value& option_of(step& in, const std::string& name);

template <class T>
T value_of(const step& in, const std::string& name) {
  const auto found = in.options.find(name);
  return std::get<T>(found == in.options.end()
                         ? find_option(in.what, name)->usual
                         : found->second);
}

/// Channels, height and width of an image.
struct image_shape {
  uint32_t channels = 0;
  uint32_t height = 0;
  uint32_t width = 0;
  friend bool operator==(const image_shape&, const image_shape&) = default;
};

/// What is wrong with the steps whatever the rows are.
std::vector<failure> mistakes_of(const std::vector<step>& steps);

/// `out`: the image behind all steps, of rows of this shape. Fails where they
/// are no images, or a step has no place on them. Precondition: no mistakes.
failure shape_behind(const std::vector<step>& steps,
                     const std::vector<uint32_t>& row, image_shape& out);

/// "/data/augment/2"
std::string pointer_of(size_t index);

} // namespace ballast::augment
