/// Small helpers shared by the files of step_executor.
#pragma once

#include "data/loader/batch.hpp"
#include "gpu/core_wait.hpp"
#include "gpu/device.hpp"

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace ballast::gpu {

inline uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

/// What this thread took from here to stop(), and of it the wait for a core.
class core_time {
public:
  void stop() {
    wall_ns_ = monotonic_ns() - from_ns_;
    waited_ns_ = std::max(core_wait_ns(), waited_from_ns_) - waited_from_ns_;
  }
  uint64_t wall_ns() const { return wall_ns_; }
  uint64_t waited_ns() const { return waited_ns_; }
  double busy_s() const {
    return double(wall_ns_ - std::min(waited_ns_, wall_ns_)) / 1e9;
  }

private:
  uint64_t from_ns_ = monotonic_ns();
  uint64_t waited_from_ns_ = core_wait_ns();
  uint64_t wall_ns_ = 0;
  uint64_t waited_ns_ = 0;
};

/// The slot of the device for rows that the step thread brings there itself;
/// the prefetcher uses the others.
constexpr size_t step_slot = 2;

/// All rows of a batch.
inline batch_view view(const data::batch& from) {
  return {.features = from.features.data(),
          .labels = from.labels.empty() ? nullptr : from.labels.data(),
          .targets = from.targets.empty() ? nullptr : from.targets.data(),
          .sample_ids = from.sample_ids.data(),
          .rows = from.rows};
}

} // namespace ballast::gpu
