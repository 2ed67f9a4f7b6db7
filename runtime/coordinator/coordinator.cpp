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

template <class Event>
void coordinator_core::take(Event what, instant now) {
  on(parts_, std::move(what), now);
}

void coordinator_core::take(worker_report what, instant now) {
  std::visit([&](auto& one) { take(std::move(one), now); }, what);
}

template <class Request>
failure coordinator_core::ask(const Request& what, instant now) {
  return ballast::ask(parts_, what, now);
}

// One for each alternative of coordinator_event and coordinator_request.
template void coordinator_core::take(heartbeat, instant);
template void coordinator_core::take(connection_lost, instant);
template void coordinator_core::take(process_ended, instant);
template void coordinator_core::take(leave_announced, instant);
template void coordinator_core::take(data_prepared, instant);
template void coordinator_core::take(prepare_failed, instant);
template void coordinator_core::take(shares_placed, instant);
template void coordinator_core::take(no_room_found, instant);
template void coordinator_core::take(worker_loaded, instant);
template void coordinator_core::take(worker_ready, instant);
template void coordinator_core::take(progress_report, instant);
template void coordinator_core::take(evaluation_report, instant);
template void coordinator_core::take(worker_paused, instant);
template void coordinator_core::take(worker_finished, instant);
template void coordinator_core::take(worker_failed, instant);
template void coordinator_core::take(final_ack, instant);
template void coordinator_core::take(state_copied, instant);
template void coordinator_core::take(chunks_fetched, instant);
template void coordinator_core::take(balance_answer, instant);
template void coordinator_core::take(saved_model, instant);
template void coordinator_core::take(checkpoint_written, instant);
template void coordinator_core::take(outside_trouble, instant);
template void coordinator_core::take(clock_tick, instant);

template failure coordinator_core::ask(const pause_request&, instant);
template failure coordinator_core::ask(const resume_request&, instant);
template failure coordinator_core::ask(const checkpoint_request&, instant);
template failure coordinator_core::ask(const stop_run&, instant);
template failure coordinator_core::ask(const scale_request&, instant);
template failure coordinator_core::ask(const drain_request&, instant);
template failure coordinator_core::ask(const evict_request&, instant);
template failure coordinator_core::ask(const balance_request&, instant);
template failure coordinator_core::ask(const injected_fault&, instant);

} // namespace ballast
