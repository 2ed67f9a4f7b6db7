#include "collectives/fault_point.hpp"

#include <atomic>
#include <memory>
#include <mutex>

namespace ballast::collectives {

namespace {

using hook_type = std::function<void(fault_point, int)>;

std::atomic<bool> hooked{false};
std::mutex hook_mutex;
std::shared_ptr<const hook_type> current_hook;

} // namespace

std::string to_string(fault_point point) {
  switch (point) {
  case fault_point::before_open:
    return "before_open";
  case fault_point::handshake:
    return "handshake";
  case fault_point::after_open:
    return "after_open";
  case fault_point::operation:
    return "operation";
  case fault_point::segment:
    return "segment";
  case fault_point::between_phases:
    return "between_phases";
  case fault_point::finished:
    return "finished";
  }
  return "unknown";
}

void set_fault_hook(hook_type hook) {
  std::lock_guard lock(hook_mutex);
  current_hook =
      hook ? std::make_shared<const hook_type>(std::move(hook)) : nullptr;
  hooked = current_hook != nullptr;
}

void reach(fault_point point, int rank) {
  if (!hooked.load(std::memory_order_relaxed)) {
    return;
  }
  std::shared_ptr<const hook_type> hook;
  {
    std::lock_guard lock(hook_mutex);
    hook = current_hook;
  }
  if (hook) {
    (*hook)(point, rank);
  }
}

} // namespace ballast::collectives
