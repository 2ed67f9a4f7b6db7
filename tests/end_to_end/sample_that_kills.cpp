// A sample that kills whoever takes it. Loaded into a worker (LD_PRELOAD) it
// reads along what the worker writes into its trace, which happens in the midst
// of a step: the sample $BALLAST_TEST_POISON in a line ends the process by
// SIGSEGV, before the step is done.
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

bool poisoned(std::string_view line) {
  static const char* const id = std::getenv("BALLAST_TEST_POISON");
  size_t at = line.find("\"ids\":[");
  if (!id || at == std::string_view::npos)
    return false;
  std::string list = "," + std::string(line.substr(at + 7));
  return list.find("," + std::string(id) + ",") != std::string::npos ||
         list.find("," + std::string(id) + "]") != std::string::npos;
}

} // namespace

extern "C" __attribute__((visibility("default"))) ssize_t
write(int file, const void* bytes, size_t count) {
  ssize_t done = ::syscall(SYS_write, file, bytes, count);
  if (poisoned({static_cast<const char*>(bytes), count}))
    std::raise(SIGSEGV);
  return done;
}
