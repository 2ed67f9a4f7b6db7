/// Why rows should move from one worker to another. Plain data.
#pragma once

namespace ballast::balance {

struct move_cause {
  /// A worker that owns more than its part ends every epoch late; one with more
  /// rows left than its part ends this epoch late. The most, as a fraction.
  double excess = 0;
  double lost = 0;        // of the epoch, waiting for one
  double over_budget = 0; // the most skew of those over it; 0: none
  bool by_size = false;
};

} // namespace ballast::balance
