#include "runtime/base/name_pattern.hpp"

namespace ballast {

// Greedy: a star takes as little as it can, and more where what follows does
// not fit; only the last star is ever asked for more.
bool fits_pattern(std::string_view pattern, std::string_view name) {
  size_t p = 0;
  size_t n = 0;
  size_t star = std::string_view::npos; // the last one that was met
  size_t after = 0;                     // of the name, behind what it took
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++after;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

std::string pattern_of_layer(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos)
    return std::string(name);
  return std::string(name.substr(0, dot)) + ".*";
}

} // namespace ballast
