/// `.safetensors` files of float64 alone, without loss: what data preparation
/// has learned. Lists of numbers by name; models are in safetensors.hpp.
///
/// Errors: ballast_error{invalid_data} with the file's name.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

/// Each as a tensor of one dimension, in the order of the names.
std::string
float64_bytes(const std::map<std::string, std::span<const double>>& tensors);
std::map<std::string, std::vector<double>>
parse_float64(std::string_view bytes, const std::string& name);

} // namespace ballast::data
