/// Which message is which event of the coordinator.
#include "actors/coordinator_shell.hpp"
#include "actors/handler_exception.hpp"
#include "runtime/base/fault_point.hpp"

#include <chrono>
#include <string>
#include <system_error>

namespace ballast {

namespace {

using namespace std::chrono_literals;

constexpr auto tick_every = 50ms;

} // namespace

coordinator_shell::coordinator_shell(caf::actor_config& actor,
                                     shard_manager_actor shards,
                                     coordinator_shell_config config)
    : local_coordinator_actor::base(actor), config_(std::move(config)) {
  config_.core.tick = tick_every;
  state_.emplace(config_.core);
  state_->shards = std::move(shards);
  on_handler_exception(this, "coordinator", config_.on_defect);
  set_down_handler([this](const caf::down_msg& m) { down(m); });
}

coordinator_shell::behavior_type coordinator_shell::make_behavior() {
  delayed_send(this, tick_every, coordinator_tick{});
  return {
      // From workers, in other processes.
      [this](hello_atom, const worker_hello& who,
             const gpu_worker_actor& handle) { return hello(who, handle); },
      [this](const heartbeat& m) { core().take(m, now()); },
      [this](const worker_report& m) { tell_core(m); },
      [this](drain_atom, worker_id who) { tell_core(leave_announced{who}); },
      // From this process.
      [this](const submit_job& order) { return name_of_run(submit(order)); },
      [this](const resume_run& order) {
        return name_of_run(resume_past(order));
      },
      [this](const control_request& request) { return control(request); },
      [this](const status_query&) { return shown_status(); },
      [this](const process_exited& m) {
        tell_core(process_ended{m.name, m.how});
      },
      [this](const stop_signal&) {
        (void)core().ask(stop_run{true}, now());
        perform_decided();
      },
      [this](const checkpoint_saved& m) {
        tell_core(checkpoint_written{m.after, m.file, m.problem});
      },
      [this](const saved_model& m) { model_saved(m); },
      [this](const run_trouble& m) { tell_core(outside_trouble{m.why}); },
      [this](const report_written& m) { ended(m); },
      [this](const coordinator_tick&) { on_tick(); },
  };
}

/// Its threads are waited for; what they still say meets nobody.
void coordinator_shell::on_exit() {
  queue_.clear(); // promises in it hold this actor
  state_.reset();
}

caf::result<welcome> coordinator_shell::hello(const worker_hello& who,
                                              const gpu_worker_actor& handle) {
  const auto answer = core().hello(who, now());
  if (const auto* refused = std::get_if<failure>(&answer))
    return to_error(*refused);
  const welcome& accepted = std::get<welcome>(answer);
  state_->handles[accepted.worker] = handle;
  monitor(handle);
  log().info("node {} joined from {} (pid {})", who.name, who.host, who.pid);
  // Before what follows: it may be excluded once more.
  if (config_.on_joined)
    config_.on_joined(who.name);
  perform_decided();
  return accepted;
}

void coordinator_shell::on_tick() {
  if (int injected = fault_point("coordinator.tick"))
    throw std::system_error(injected, std::generic_category(), "a tick");
  tick();
  const bool due = summaries_due();
  if (due)
    refresh_workers();
  if (due && state_->record)
    state_->record->probe()->status(status());
  if (config_.on_tick && core().active())
    config_.on_tick(status());
  delayed_send(this, tick_every, coordinator_tick{});
}

} // namespace ballast
