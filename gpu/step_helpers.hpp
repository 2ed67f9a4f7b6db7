/// Small things that the files of step_executor share.
#pragma once

#include "data/batch.hpp"
#include "gpu/model.hpp"

#include <cstdint>
#include <ctime>

namespace ballast {

inline uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

/// `count` rows of a batch, from row `begin` on.
inline batch_view view(const batch& from, uint32_t begin, uint32_t count,
                       uint32_t features) {
  return {.features = from.features.data() + size_t(begin) * features,
          .labels = from.labels.empty() ? nullptr : from.labels.data() + begin,
          .targets =
              from.targets.empty() ? nullptr : from.targets.data() + begin,
          .sample_ids = from.sample_ids.data() + begin,
          .rows = count};
}

} // namespace ballast
