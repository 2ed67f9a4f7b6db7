/// Rows of a chunk that moved to a worker. Plain data.
#pragma once

#include "runtime/base/ids.hpp"

#include <compare>

namespace ballast {

struct arrival {
  chunk_id chunk{};
  worker_id at{};
  friend auto operator<=>(const arrival&, const arrival&) = default;
};

} // namespace ballast
