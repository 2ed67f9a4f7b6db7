/// The place of an integer in a struct instead of which a document may have one
/// word, such as "epoch". Points into a struct that outlives it. Pure.
#pragma once

#include <cstdint>
#include <optional>

namespace ballast {

struct number_or_word {
  std::optional<uint64_t>* number = nullptr; // none: the word stands there
  const char* word = nullptr;

  void choose() const { number->reset(); }
};

} // namespace ballast
