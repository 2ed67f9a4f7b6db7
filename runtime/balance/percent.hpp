/// A fraction in words: 0.125 is "12.5 %".
#pragma once

#include <cstdio>
#include <string>

namespace ballast::balance {

inline std::string percent(double part) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * part);
  return text;
}

} // namespace ballast::balance
