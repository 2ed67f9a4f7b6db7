#include "runtime/base/text_digest.hpp"

#include "runtime/base/random.hpp"

namespace ballast {

uint64_t text_digest(uint64_t before, std::string_view text) {
  uint64_t digest = mix(before, text.size());
  for (size_t at = 0; at < text.size(); at += 8) {
    uint64_t word = 0;
    for (size_t i = at; i < text.size() && i < at + 8; ++i)
      word = word << 8 | uint8_t(text[i]);
    digest = mix(digest, word);
  }
  return digest;
}

std::string digest_text(uint64_t digest) {
  static const char* digits = "0123456789abcdef";
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4)
    out += digits[digest >> shift & 15];
  return out;
}

} // namespace ballast
