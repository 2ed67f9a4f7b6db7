/// The place of an enum in a struct, beside the words of its values: a text in
/// a document. The type of the enum is erased, so that one table of fields
/// holds places of every enum. Points into a struct that outlives it. Pure.
#pragma once

#include "runtime/base/check.hpp"
#include "runtime/base/words.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace ballast {

class word_place {
public:
  template <has_words Enum>
  word_place(Enum* place) // NOLINT: as any pointer becomes a field_place
      : place_(place), words_(words_of<Enum>), index_of_([](const void* at) {
          return size_t(*static_cast<const Enum*>(at));
        }),
        set_([](void* at, size_t index) {
          *static_cast<Enum*>(at) = Enum(index);
        }) {}

  std::span<const std::string_view> words() const { return words_; }
  const void* address() const { return place_; }

  std::string load() const { return std::string(words_[index_of_(place_)]); }
  /// Precondition: `word` is one of the words.
  void store(const std::string& word) const {
    const auto found = std::find(words_.begin(), words_.end(), word);
    BALLAST_CHECK(found != words_.end(), "not a word of the field: " + word);
    set_(place_, size_t(found - words_.begin()));
  }

private:
  void* place_;
  std::span<const std::string_view> words_;
  size_t (*index_of_)(const void*);
  void (*set_)(void*, size_t);
};

} // namespace ballast
