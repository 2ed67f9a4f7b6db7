/// Reading a source takes as long as the source is large; this ends it sooner.
#pragma once

#include "runtime/base/errors.hpp"

#include <stop_token>

namespace ballast {

/// Throws ballast_error{stopped} once `stop` was requested.
inline void check_stop(const std::stop_token& stop) {
  if (stop.stop_requested())
    throw ballast_error(errc::stopped,
                        "stopped while the data were being prepared");
}

} // namespace ballast
