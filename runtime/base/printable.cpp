#include "runtime/base/printable.hpp"

#include <cstdint>

namespace ballast {

namespace {

struct character {
  size_t bytes = 1;
  bool valid = false;
  bool control = false;
};

uint8_t byte_at(std::string_view text, size_t at) {
  return at < text.size() ? uint8_t(text[at]) : 0;
}

/// The character that begins at `at`, by the Unicode table of well-formed byte
/// sequences: no overlong forms, no surrogates, at most U+10FFFF.
character character_at(std::string_view text, size_t at) {
  const uint8_t first = byte_at(text, at);
  if (first < 0x80)
    return {1, true, first < 0x20 || first == 0x7F};
  size_t bytes = 0;
  uint8_t least = 0x80;
  uint8_t most = 0xBF;
  if (first >= 0xC2 && first <= 0xDF)
    bytes = 2;
  else if (first >= 0xE0 && first <= 0xEF)
    bytes = 3;
  else if (first >= 0xF0 && first <= 0xF4)
    bytes = 4;
  else
    return {};
  if (first == 0xE0)
    least = 0xA0;
  else if (first == 0xED)
    most = 0x9F;
  else if (first == 0xF0)
    least = 0x90;
  else if (first == 0xF4)
    most = 0x8F;
  for (size_t i = 1; i < bytes; ++i) {
    const uint8_t next = byte_at(text, at + i);
    if (next < least || next > most)
      return {};
    least = 0x80;
    most = 0xBF;
  }
  // U+0080 to U+009F are control characters too; those that turn the direction
  // of what follows are U+202A to U+202E and U+2066 to U+2069.
  const uint8_t second = byte_at(text, at + 1);
  const uint8_t third = byte_at(text, at + 2);
  const bool turns =
      first == 0xE2 && ((second == 0x80 && third >= 0xAA && third <= 0xAE) ||
                        (second == 0x81 && third >= 0xA6 && third <= 0xA9));
  return {bytes, true, turns || (first == 0xC2 && second < 0xA0)};
}

void append_escaped(std::string& out, uint8_t byte) {
  if (byte == '\n' || byte == '\r' || byte == '\t') {
    out += byte == '\n' ? "\\n" : byte == '\r' ? "\\r" : "\\t";
    return;
  }
  constexpr const char* digits = "0123456789abcdef";
  out += "\\x";
  out += digits[byte >> 4];
  out += digits[byte & 15];
}

} // namespace

std::string printable(std::string_view text, size_t characters_max) {
  std::string out;
  size_t shown = 0;
  for (size_t at = 0; at < text.size(); ++shown) {
    if (shown == characters_max)
      return out + "...";
    const character one = character_at(text, at);
    if (one.valid && !one.control)
      out.append(text.substr(at, one.bytes));
    else
      for (size_t i = 0; i < one.bytes; ++i)
        append_escaped(out, byte_at(text, at + i));
    at += one.bytes;
  }
  return out;
}

size_t count_characters(std::string_view text) {
  size_t out = 0;
  for (size_t at = 0; at < text.size(); ++out)
    at += character_at(text, at).bytes;
  return out;
}

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at; // most text is nothing else
      continue;
    }
    const character one = character_at(text, at);
    if (!one.valid)
      return false;
    at += one.bytes;
  }
  return true;
}

} // namespace ballast
