/// The element types of a `.safetensors` file and their conversion to float32.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace ballast::data {

struct number_type {
  std::string_view name; // as in the file: "BF16"
  size_t bytes = 0;      // each
  bool integer = false;
  /// Little-endian values at any address. False if one of them is finite in
  /// this type and infinite in float32.
  bool (*to_float32)(const char* from, std::span<float> to) = nullptr;
};

/// Null for an unsupported type.
const number_type* find_number_type(std::string_view name);

} // namespace ballast::data
