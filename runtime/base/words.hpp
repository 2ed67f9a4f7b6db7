/// Enums that users write as words. The words stand in one table beside the
/// enum, words_of<Enum>: one for each value, in the order of the values, which
/// count from 0. Text becomes an enum where it enters (parse_word) and text
/// again where it leaves (to_string). Pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace ballast {

/// Specialised beside the enum, by std::to_array<std::string_view>({...}).
template <class Enum>
inline constexpr auto words_of = nullptr;

template <class Enum>
concept has_words = std::is_enum_v<Enum> && requires {
  words_of<Enum>.size();
};

template <has_words Enum>
std::string to_string(Enum value) {
  return std::string(words_of<Enum>.at(size_t(value)));
}

/// The value that the word names; none for any other text.
template <has_words Enum>
std::optional<Enum> parse_word(std::string_view word) {
  const auto& words = words_of<Enum>;
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end())
    return std::nullopt;
  return Enum(found - words.begin());
}

} // namespace ballast
