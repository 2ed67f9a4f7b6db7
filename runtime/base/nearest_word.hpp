/// What a user meant who wrote a word that is not known. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ballast {

/// The candidate that a user who wrote `word` most likely meant; empty if none
/// is close. The earlier candidate wins a tie.
std::string nearest_word(std::string_view word,
                         const std::vector<std::string>& candidates);

} // namespace ballast
