#include "data/source/column_notes.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::data {

void note_number(column_survey& to, double number, const std::string& place) {
  if (to.numbers + to.texts == 0)
    to.numeric = true;
  if (++to.numbers == 1)
    to.first_number = {place, ""};
  const float value = float(number);
  if (!(value - value == 0)) {
    if (++to.unusable == 1)
      to.first_unusable = {place, ""};
    return;
  }
  const bool first = to.numbers - to.unusable == 1;
  to.least = first ? number : std::min(to.least, number);
  to.most = first ? number : std::max(to.most, number);
  to.whole = to.whole && number == std::trunc(number);
}

void note_text(column_survey& to, const std::string& text,
               const std::string& place) {
  if (++to.texts == 1)
    to.first_text = {place, text};
  if (const auto known = to.words.find(text); known != to.words.end())
    ++known->second;
  else if (to.words.size() < surveyed_texts_max)
    to.words.emplace(text, 1);
}

void note_missing(column_survey& to, const std::string& place) {
  if (++to.missing == 1)
    to.first_missing = {place, ""};
}

} // namespace ballast::data
