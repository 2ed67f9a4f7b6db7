/// Numbers of things in messages: "1 row", "2 rows". Pure.
#pragma once

#include <cstdint>
#include <string>

namespace ballast {

inline std::string counted(uint64_t count, const std::string& thing) {
  return std::to_string(count) + ' ' + thing + (count == 1 ? "" : "s");
}

} // namespace ballast
