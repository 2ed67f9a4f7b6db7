/// The arenas of one GPU: memory that NCCL can register if NCCL is available,
/// and a registry of it, so that device addresses can be recognised without a
/// call to the driver.
///
/// Threads: any. An arena may outlive the registry.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

namespace ballast::gpu {

class cuda_arenas {
public:
  explicit cuda_arenas(int device);

  /// Zeroed. On a full device `make_room` (if given) is called first. Throws
  /// ballast_error{device_failed} with the free memory if it does not fit.
  std::shared_ptr<float[]> allocate(size_t floats,
                                    const std::function<void()>& make_room);
  /// In floats, from the begin of the arena that contains `at`.
  std::optional<size_t> place_of(const void* at) const;

private:
  struct book;
  std::shared_ptr<book> book_;
};

} // namespace ballast::gpu
