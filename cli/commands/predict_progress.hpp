/// The line of `ballast predict` that says how far it is; on a terminal only,
/// some times a second. One owner, one thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace ballast::cli {

class predict_progress {
public:
  predict_progress();
  void show(uint64_t rows, uint64_t deaths);
  /// The line goes.
  void end();

private:
  const bool is_terminal_;
  const std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point last_{};
  bool shown_ = false;
};

} // namespace ballast::cli
