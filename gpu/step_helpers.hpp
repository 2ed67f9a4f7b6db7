/// Small helpers shared by the files of step_executor.
#pragma once

#include "collectives/collective.hpp"
#include "data/loader/batch.hpp"
#include "gpu/model.hpp"

#include <chrono>
#include <cstdint>
#include <ctime>

namespace ballast::gpu {

inline uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

/// Waiting for a living peer is no error, however slow it is: heartbeats detect
/// its death. This only bounds a hang that nothing else would notice.
inline collectives::deadline patience() {
  return std::chrono::steady_clock::now() + std::chrono::hours(1);
}

/// All rows of a batch.
inline batch_view view(const data::batch& from) {
  return {.features = from.features.data(),
          .labels = from.labels.empty() ? nullptr : from.labels.data(),
          .targets = from.targets.empty() ? nullptr : from.targets.data(),
          .sample_ids = from.sample_ids.data(),
          .rows = from.rows};
}

} // namespace ballast::gpu
