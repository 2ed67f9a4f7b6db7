/// What a stream gives that comes in these pieces.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ballast::store {

inline std::function<std::string()> pieces_of(std::vector<std::string> all) {
  return [all = std::move(all), at = size_t{0}]() mutable {
    return at < all.size() ? all[at++] : std::string();
  };
}

} // namespace ballast::store
