/// What one rank of a generation found out about its connection to another:
/// that nothing goes over it. Said only of what it saw on that very connection,
/// never because the other end was closed: that may have been for any reason.
#pragma once

#include <cstdint>
#include <string>

namespace ballast {

struct dead_link {
  int32_t rank = -1; // at the other end
  /// Where no connection could be made; empty: one was made, or is still
  /// awaited from there.
  std::string address = {};
  std::string why = {};
};

} // namespace ballast
