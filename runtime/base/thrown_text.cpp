#include "runtime/base/thrown_text.hpp"

#include <new>
#include <system_error>

namespace ballast {

std::string thrown_text(const std::exception& thrown) {
  if (dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr)
    return out_of_memory_text;
  const auto* failed = dynamic_cast<const std::system_error*>(&thrown);
  // Code that throws it for a call of its own names the call; std::thread does
  // not.
  if (failed != nullptr &&
      failed->code() == std::errc::resource_unavailable_try_again &&
      failed->code().message() == failed->what())
    return "cannot start another thread: " + std::string(thrown.what()) +
           "; end other programs, or raise the limit of processes and threads "
           "(`ulimit -u`, pids.max of the container) or of memory (`ulimit "
           "-v`)";
  return thrown.what();
}

} // namespace ballast
