#include "cli/commands/predict_progress.hpp"

#include <cstdio>
#include <unistd.h>

namespace ballast::cli {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

predict_progress::predict_progress()
    : is_terminal_(::isatty(STDERR_FILENO) == 1), begin_(steady::now()) {}

void predict_progress::show(uint64_t rows, uint64_t deaths) {
  const auto now = steady::now();
  if (!is_terminal_ || now - last_ < 200ms)
    return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  std::fprintf(stderr, "\r\x1b[K%llu rows, %.0f a second",
               static_cast<unsigned long long>(rows), double(rows) / seconds);
  if (deaths > 0)
    std::fprintf(stderr, ", %llu processes replaced",
                 static_cast<unsigned long long>(deaths));
  std::fflush(stderr);
  shown_ = true;
}

void predict_progress::end() {
  if (shown_)
    std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

} // namespace ballast::cli
