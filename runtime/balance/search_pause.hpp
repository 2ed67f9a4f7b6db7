/// Back-off: a search without a result is repeated after growing pauses, while
/// the plan is the same. Pure.
#pragma once

#include "runtime/balance/load.hpp"

#include <algorithm>
#include <cstdint>

namespace ballast::balance {

struct search_pause {
  balance_code why = balance_code::at_optimum;
  uint64_t until = 0;   // window
  uint64_t windows = 1; // of the next pause

  balance_code begin(uint64_t window, balance_code because,
                     uint64_t windows_max) {
    why = because;
    if (why == balance_code::dwell) // ends soon
      windows = 1;
    until = window + windows;
    windows = std::min(2 * windows, windows_max);
    return why;
  }
};

} // namespace ballast::balance
