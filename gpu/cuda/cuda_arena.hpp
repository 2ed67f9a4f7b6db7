/// The arenas of one GPU: memory that NCCL can register where there is NCCL,
/// and a book of it, so that an address can be told from one of the host
/// without asking the driver.
///
/// Threads: any. An arena may outlive the book.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

namespace ballast {

class cuda_arenas {
public:
  explicit cuda_arenas(int device);

  /// Zeroed. Throws ballast_error{device_failed} that says how much is free
  /// where it does not fit.
  std::shared_ptr<float[]> allocate(size_t floats);
  /// In floats, from the begin of the arena that holds `at`.
  std::optional<size_t> place_of(const void* at) const;

private:
  struct book;
  std::shared_ptr<book> book_;
};

} // namespace ballast
