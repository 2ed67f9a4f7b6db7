/// How far the words of one table differ from those of another. Pure.
///
/// If all words of both are counted: half the sum of the differences of their
/// shares (total variation), and the population stability index over them. Else
/// an estimate: frequent words by their counts, of which each is wrong by an
/// eighth at most; the rest as the sample of words is that both tables have in
/// common, whose counts are exact. It is 1 of tables without a common word, and
/// 0 of equal ones. In the index the rest is three bins: words whose share has
/// at least doubled, those whose share is half of what it was or less, and the
/// others.
#pragma once

#include "data/profile/table_profile.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ballast::data {

/// 0 of nothing.
double share(double part, double of);
/// Shares of 0 count as 10^-4 in the index, as usual.
double stability_of(double before, double after);
double missing_share(const column_profile& of);

struct word_drift {
  double distance = 0;
  double stability = 0;
  bool estimated = false;
  /// Of the second table that the first does not have (of an estimate: or only
  /// in fewer rows than are counted), the most frequent first; the first few.
  std::vector<std::string> new_words;
  uint64_t new_word_rows = 0; // of all of them
};

word_drift word_drift_between(const column_profile& before,
                              const column_profile& after);

} // namespace ballast::data
