#include "runtime/base/run_mark.hpp"

#include "runtime/base/random.hpp"

namespace ballast {

std::string run_mark(const std::string& token, const std::string& run) {
  uint64_t state = mix(token.size(), run.size());
  for (const std::string* part : {&token, &run})
    for (char c : *part)
      state = mix(state, uint8_t(c));
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4)
    out += "0123456789abcdef"[state >> shift & 15];
  return out;
}

} // namespace ballast
