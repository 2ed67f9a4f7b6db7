/// The place of a list of numbers in a struct instead of which a document may
/// have one word, such as "balanced". Points into a struct that outlives it.
/// Pure.
#pragma once

#include <string>
#include <vector>

namespace ballast {

struct list_or_word {
  std::vector<double>* list = nullptr;
  bool* chosen = nullptr; // the word stands there, and the list is empty
  const char* word = nullptr;

  void choose() const {
    list->clear();
    *chosen = true;
  }
};

} // namespace ballast
