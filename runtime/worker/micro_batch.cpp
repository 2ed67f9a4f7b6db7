#include "runtime/worker/micro_batch.hpp"

#include <algorithm>

namespace ballast::worker {

micro_batch::micro_batch(std::optional<uint64_t> most)
    : most_(std::clamp<uint64_t>(most.value_or(UINT32_MAX), 1, UINT32_MAX)) {}

uint32_t micro_batch::rows(uint64_t left) const {
  return uint32_t(std::min(most_, left));
}

void micro_batch::fitted(uint32_t rows) {
  proven_ = std::max(proven_, rows);
}

bool micro_batch::did_not_fit(uint32_t rows) {
  if (rows <= 1)
    return false;
  most_ = rows / 2;
  // It fitted once: what else the device holds has grown since.
  proven_ = 0;
  return true;
}

} // namespace ballast::worker
