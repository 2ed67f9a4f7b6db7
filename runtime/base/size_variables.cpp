#include "runtime/base/size_variables.hpp"

#include "runtime/base/printable.hpp"

#include <charconv>
#include <string>
#include <string_view>

namespace ballast {

namespace {

/// More than any machine has, and far from overflow.
constexpr double gigabytes_max = 1e9;
constexpr uint64_t mib_max = 1'000'000'000;

/// Accepts the whole text or nothing: neither "20x" nor " 20".
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number out{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, out);
  if (rest != end || error != std::errc{})
    return std::nullopt;
  return out;
}

bool is_set(const char* text) {
  return text != nullptr && *text != 0;
}

failure wrong(const char* name, const char* text, const std::string& expected) {
  constexpr size_t shown_max = 40;
  return {errc::usage,
          std::string(name) + " is '" + printable(text, shown_max) +
              "'; expected " + expected + "; correct it, or unset it",
          {}};
}

} // namespace

size_setting read_cache_limit(const char* text) {
  if (!is_set(text))
    return {};
  const std::optional<double> gigabytes = number_of<double>(text);
  // Also false for NaN.
  if (!gigabytes || !(*gigabytes >= 0 && *gigabytes < gigabytes_max))
    return {std::nullopt,
            wrong(cache_limit_variable, text,
                  "a number of gigabytes from 0, as in 20 or 0.5")};
  return {uint64_t(*gigabytes * 1e9), {}};
}

size_setting read_memory(const char* text) {
  if (!is_set(text))
    return {};
  const std::optional<uint64_t> mib = number_of<uint64_t>(text);
  if (!mib || *mib == 0 || *mib > mib_max)
    return {std::nullopt, wrong(memory_variable, text,
                                "a whole number of MiB from 1, as in 4096")};
  return {*mib << 20, {}};
}

} // namespace ballast
