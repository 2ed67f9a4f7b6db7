#include "data/model/number_type.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace ballast::data {
namespace {

template <class Stored>
Stored stored_at(const char* from, size_t i) {
  Stored out;
  std::memcpy(&out, from + i * sizeof(Stored), sizeof out);
  return out;
}

bool from_float32(const char* from, std::span<float> to) {
  if (!to.empty())
    std::memcpy(to.data(), from, to.size_bytes());
  return true;
}

template <class Number>
bool from_number(const char* from, std::span<float> to) {
  bool fits = true;
  for (size_t i = 0; i < to.size(); ++i) {
    const auto value = double(stored_at<Number>(from, i));
    to[i] = float(value);
    fits = fits && (std::isfinite(to[i]) || !std::isfinite(value));
  }
  return fits;
}

/// The upper half of a float32.
bool from_bfloat16(const char* from, std::span<float> to) {
  for (size_t i = 0; i < to.size(); ++i)
    to[i] = std::bit_cast<float>(uint32_t(stored_at<uint16_t>(from, i)) << 16);
  return true;
}

/// IEEE 754 binary16: 5 bits of exponent, 10 of fraction.
bool from_float16(const char* from, std::span<float> to) {
  for (size_t i = 0; i < to.size(); ++i) {
    const uint32_t bits = stored_at<uint16_t>(from, i);
    const uint32_t exponent = bits >> 10 & 31;
    const uint32_t fraction = bits & 1023;
    float magnitude =
        exponent == 0 ? std::ldexp(float(fraction), -24)
                      : std::ldexp(float(1024 + fraction), int(exponent) - 25);
    if (exponent == 31)
      magnitude = fraction == 0 ? INFINITY : NAN;
    to[i] = bits >> 15 ? -magnitude : magnitude;
  }
  return true;
}

constexpr number_type types[] = {
    {"F32", 4, false, from_float32},
    {"F16", 2, false, from_float16},
    {"BF16", 2, false, from_bfloat16},
    {"F64", 8, false, from_number<double>},
    {"I64", 8, true, from_number<int64_t>},
    {"I32", 4, true, from_number<int32_t>},
    {"I16", 2, true, from_number<int16_t>},
    {"I8", 1, true, from_number<int8_t>},
    {"U8", 1, true, from_number<uint8_t>},
    {"BOOL", 1, true, from_number<uint8_t>},
};

} // namespace

const number_type* find_number_type(std::string_view name) {
  const auto* found = std::ranges::find(types, name, &number_type::name);
  return found == std::end(types) ? nullptr : found;
}

} // namespace ballast::data
