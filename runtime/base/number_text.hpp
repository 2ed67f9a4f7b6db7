/// Numbers as a person reads them on a terminal. Pure.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>

namespace ballast {

namespace number_text_parts {

template <class... Args>
std::string format(const char* pattern, Args... args) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}

/// As many decimals as make three digits; 999.6 is "1000" and not "999.6".
inline std::string three_digits(double number) {
  const double size = std::abs(number);
  const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return format("%.*f", decimals, number);
}

inline std::string with_factor(double number, const std::string& unit) {
  constexpr std::array<const char*, 5> factors{"", "k", "M", "G", "T"};
  size_t at = 0;
  while (std::abs(number) >= 999.5 && at + 1 < factors.size()) {
    number /= 1000;
    ++at;
  }
  const std::string digits =
      at == 0 ? format("%.0f", number) : three_digits(number);
  const std::string what = factors[at] + unit;
  return what.empty() ? digits : digits + " " + what;
}

} // namespace number_text_parts

/// 1234567 -> "1,234,567"; rounded to a whole number.
inline std::string thousands(double number) {
  std::string digits = number_text_parts::format("%.0f", number);
  const size_t first = digits.starts_with("-") ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

/// Four significant digits: "0.4310", "12.30", "1.234e+05".
inline std::string four_digits(double number) {
  std::string out = number_text_parts::format("%#.4g", number);
  if (out.ends_with("."))
    out.pop_back();
  return out;
}

/// Three significant digits and a factor: "812", "8.12 k", "81.2 k", "1.23 M".
inline std::string short_number(double number) {
  return number_text_parts::with_factor(number, "");
}

/// Bytes, likewise: "812 B", "81.2 kB", "1.23 GB".
inline std::string bytes_text(double bytes) {
  return number_text_parts::with_factor(bytes, "B");
}

/// A part of 1: "66.5 %"; what is there is never "0.0 %".
inline std::string percent_text(double part) {
  constexpr double least = 0.0005;
  if (part > 0 && part < least)
    return "under 0.1 %";
  return number_text_parts::format("%.1f %%", 100 * part);
}

/// "0:05", "12:34", "3:25:45"; rounded up.
inline std::string clock_text(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(seconds));
  if (whole < 3600)
    return number_text_parts::format("%lld:%02lld", whole / 60, whole % 60);
  return number_text_parts::format("%lld:%02lld:%02lld", whole / 3600,
                                   whole / 60 % 60, whole % 60);
}

/// What took some time: "0.052 s", "1.23 s", "12.3 s", "4:05".
inline std::string took_text(double seconds) {
  constexpr double clock_from = 120;
  if (seconds >= clock_from)
    return clock_text(seconds);
  if (seconds < 1)
    return number_text_parts::format("%.3f s", seconds);
  return number_text_parts::three_digits(seconds) + " s";
}

} // namespace ballast
