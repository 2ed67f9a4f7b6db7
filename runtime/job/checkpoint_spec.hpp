/// `checkpoint` of a job: when the state is saved, and where. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ballast {

struct checkpoint_spec {
  uint64_t every_steps = 200;
  uint64_t every_s = 10; // on the disk
  uint32_t keep = 2;
  std::optional<uint64_t> memory_every_s; // null = 30, where there is room
  /// Where copies of them go: a folder, or a URI of one; empty: nowhere.
  std::string copy_to;

  /// Seconds between two in memory; 0: the disk's are no rarer, or none.
  uint64_t in_memory_every_s() const {
    const uint64_t asked = memory_every_s.value_or(30);
    return asked < every_s ? asked : 0;
  }
  /// Seconds between two copies, wherever they go.
  uint64_t copied_every_s() const {
    const uint64_t in_memory = in_memory_every_s();
    return in_memory > 0 ? in_memory : every_s;
  }
};

} // namespace ballast
