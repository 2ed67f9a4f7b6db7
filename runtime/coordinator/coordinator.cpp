#include "runtime/coordinator/coordinator.hpp"

#include "runtime/coordinator/transitions.hpp"

#include <utility>

namespace ballast {

coordinator_core::coordinator_core(coordinator_config config, outbox& to)
    : parts_(std::move(config), to) {}

std::variant<welcome, failure>
coordinator_core::hello(const worker_hello& hello, instant now) {
  return greet(parts_, hello, now);
}

failure coordinator_core::submit(const job& what, const std::string& run_name,
                                 ballast::term life) {
  return ballast::submit(parts_, what, run_name, life);
}

failure coordinator_core::resume(past_run past, ballast::term life,
                                 std::string token) {
  return take_over(parts_, std::move(past), life, std::move(token));
}

void coordinator_core::take(worker_report what, instant now) {
  std::visit([&](auto& one) { take(std::move(one), now); }, what);
}

} // namespace ballast
