#include "gpu/core_wait.hpp"

#include "runtime/base/unique_fd.hpp"

#include <charconv>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace ballast::gpu {

uint64_t core_wait_ns() {
  // Bound to the thread that opened it.
  thread_local const unique_fd file(
      ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
  char text[96];
  const ssize_t got = ::pread(file.get(), text, sizeof(text), 0);
  if (got <= 0)
    return 0;
  // Time on a core, time waiting for one, number of turns.
  const std::string_view line(text, size_t(got));
  const size_t second = line.find(' ');
  uint64_t out = 0;
  if (second != std::string_view::npos)
    std::from_chars(line.data() + second + 1, line.data() + line.size(), out);
  return out;
}

} // namespace ballast::gpu
