/// The first step of a generation, where it is one that a failure broke off:
/// its rows are taken and what a rank has to compute of it is begun on a thread
/// of its own, while the ranks still connect.
///
/// Thread: one at a time. Rows and method outlive it; until end() or take()
/// nobody else computes by the method or changes the parameters.
#pragma once

#include "gpu/prefetcher.hpp"
#include "gpu/step_method.hpp"

#include <cstdint>
#include <exception>
#include <optional>
#include <thread>

namespace ballast::gpu {

class head_start {
public:
  head_start(prefetcher& rows, step_method& method)
      : rows_(rows), method_(method) {}
  ~head_start() { give_up(); }

  /// Once, after the step's order was submitted. `seed`: of the job.
  void begin(uint64_t seed, uint32_t rank);
  /// Returns when the method is the caller's again; what is computed until
  /// then stays.
  void end() noexcept;
  /// Likewise, where no step will follow: rows are not waited for.
  void give_up() noexcept;
  /// As of the prefetcher; of the first step also what computing it threw.
  std::optional<prefetcher::ready> take();

private:
  prefetcher& rows_;
  step_method& method_;
  std::thread thread_;
  bool took_ = false; // the first step's rows, or it failed
  std::optional<prefetcher::ready> first_;
  std::exception_ptr error_;
};

} // namespace ballast::gpu
