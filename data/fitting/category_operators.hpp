/// What the operators on categories share: those that no training row has.
/// Includes Arrow; for source files of data/fitting/ only.
#pragma once

#include "data/fitting/fitted_operator.hpp"
#include "runtime/graph/fitted_words.hpp"

namespace ballast::data {

inline graph::unseen_kind unseen_of(const fit_terms& terms) {
  return *parse_word<graph::unseen_kind>(
      graph::value_of<std::string>(terms.what, "unseen"));
}
/// row_error{...} of a category that is none of the column's.
[[noreturn]] void refuse_unseen(const cell_owner& owner,
                                const std::vector<std::string>& known,
                                const row_finder& place, int64_t row,
                                std::string_view category);

} // namespace ballast::data
