#include "cli/process_identity.hpp"

#include "runtime/base/unique_fd.hpp"

#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <sys/syscall.h>
#include <unistd.h>

namespace ballast::cli {

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string out;
  file >> out;
  return out;
}

std::optional<uint64_t> start_ticks(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text(std::istreambuf_iterator<char>(file), {});
  // After the name, which may contain anything: state is field 3, starttime 22.
  size_t name_end = text.rfind(')');
  if (name_end == std::string::npos)
    return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int number = 3; fields >> field; ++number) {
    if (number == 3 && (field == "Z" || field == "X"))
      return std::nullopt;
    if (number == 22)
      return std::stoull(field);
  }
  return std::nullopt;
}

void signal_process(pid_t pid, uint64_t started, int number) {
  // The descriptor refers to one process for good.
  unique_fd process(int(::syscall(SYS_pidfd_open, pid, 0)));
  if (start_ticks(pid) != started)
    return;
  if (process)
    ::syscall(SYS_pidfd_send_signal, process.get(), number, nullptr, 0);
  else
    ::kill(pid, number); // a kernel without pidfd
}

} // namespace ballast::cli
