/// GET /v1/series?names=A,B&from=SECONDS&points=N: what is asked for. Pure.
#pragma once

#include "monitor/history/run_history.hpp"

#include <string>

namespace ballast::monitor {

constexpr size_t series_names_max = 64;
constexpr size_t series_points_max = 2000;

struct series_asked {
  series_query query;
  std::string refused; // why it cannot be answered; empty: it can
};

/// Each may be empty: left out. `from`: seconds of CLOCK_MONOTONIC, as the
/// answers have them.
series_asked parse_series(const std::string& names, const std::string& from,
                          const std::string& points);

} // namespace ballast::monitor
