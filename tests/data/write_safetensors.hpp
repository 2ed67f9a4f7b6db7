/// A .safetensors file for tests.
#pragma once

#include "data/model/safetensors.hpp"

#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace ballast::data {

inline void
write_safetensors(const std::string& path,
                  const std::vector<tensor_view>& tensors,
                  const std::map<std::string, std::string>& metadata = {}) {
  const std::string bytes = safetensors_bytes(tensors, metadata);
  std::ofstream(path, std::ios::binary) << bytes;
}

} // namespace ballast::data
