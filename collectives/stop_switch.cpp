#include "collectives/stop_switch.hpp"

namespace ballast::collectives {

bool stop_switch::stop(collective_errc code, const std::string& what, int peer,
                       const std::vector<dead_link>& links) noexcept {
  std::lock_guard lock(mutex_);
  if (stopped_) {
    return false;
  }
  code_ = code;
  peer_ = peer;
  try {
    what_ = what;
    links_ = links;
  } catch (...) { // no memory for the text; the code suffices
  }
  stopped_.store(true, std::memory_order_release);
  signal_eventfd(bell_.get());
  return true;
}

void stop_switch::raise() const {
  std::lock_guard lock(mutex_);
  throw collective_error(code_, what_, peer_, links_);
}

} // namespace ballast::collectives
