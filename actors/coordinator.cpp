/// Which message is which event of the coordinator.
#include "actors/coordinator_shell.hpp"
#include "actors/handler_exception.hpp"
#include "runtime/base/fault_point.hpp"

#include <chrono>
#include <set>
#include <string>
#include <system_error>

namespace ballast {

namespace {

using namespace std::chrono_literals;

constexpr auto tick_every = 50ms;

/// Gauges that follow from the state, not from events.
void refresh_probe(const coordinator_core& core, run_record& record,
                   const nlohmann::json& status) {
  coordinator_probe& probe = *record.probe();
  probe.state(status["state"].get<std::string>());
  if (const auto& run = core.current()) {
    const balance_account& done = run->balance;
    probe.balance({.makespan_ratio = done.state.makespan_ratio,
                   .moves_in_flight = run->transfer && !run->transfer->sent
                                          ? run->transfer->what.moves.size()
                                          : 0,
                   .moved_by_skew = done.moved_by_skew,
                   .moved_by_size = done.moved_rows - done.moved_by_skew -
                                    done.moved_by_coverage,
                   .moved_by_coverage = done.moved_by_coverage,
                   .bound = done.bound_rows,
                   .bytes = done.moved_bytes});
  }
  std::set<std::string> members;
  for (const auto& one : status["workers"]) {
    if (one["rank"].is_null() || one["state"] == "lost" ||
        !one.contains("rows_owned"))
      continue;
    std::string name = one["name"];
    members.insert(name);
    probe.worker_report(name, one["samples_per_s"], one["batch"],
                        one["rows_owned"], one["skew_tv"]);
    if (one.contains("copy_bytes_per_s"))
      probe.copy_rate(name, one["copy_bytes_per_s"]);
    if (one["heartbeat_age_s"].is_number())
      probe.heartbeat_age(name, one["heartbeat_age_s"]);
  }
  // What nobody owns any more must not count into a sum over the workers. A
  // name may have come back.
  for (const auto& one : status["workers"])
    if (!members.contains(one["name"]))
      probe.worker_gone(one["name"]);
}

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
      [this](const heartbeat& m) { core().on_heartbeat(m, now()); },
      [this](const worker_loaded& m) { perform(core().on_loaded(m, now())); },
      [this](const worker_ready& m) { perform(core().on_ready(m, now())); },
      [this](const final_ack& m) { perform(core().on_ack(m, now())); },
      [this](const progress_report& m) {
        perform(core().on_progress(m, now()));
      },
      [this](const evaluation_report& m) { perform(core().on_evaluated(m)); },
      [this](const worker_paused& m) { perform(core().on_paused(m, now())); },
      [this](const worker_finished& m) { perform(core().on_finished(m)); },
      [this](const worker_failed& m) { perform(core().on_failed(m, now())); },
      [this](const state_copied& m) { perform(core().on_copied(m)); },
      [this](const chunks_fetched& m) { perform(core().on_fetched(m, now())); },
      [this](drain_atom, worker_id who) { perform(core().on_leaving(who)); },
      // From this process.
      [this](const submit_job& order) { return name_of_run(submit(order)); },
      [this](const resume_run& order) {
        return name_of_run(resume_past(order));
      },
      [this](const control_request& request) { return control(request); },
      [this](const status_query&) { return status_shown{status()}; },
      [this](const process_exited& m) {
        perform(core().on_process_ended(m.name, m.how, now()));
      },
      [this](const stop_signal&) { perform(core().stop(true).then); },
      [this](const checkpoint_saved& m) {
        perform(core().on_checkpoint(m.after, m.file, m.problem, now()));
      },
      [this](const saved_model& m) { model_saved(m); },
      [this](const run_trouble& m) { perform(core().on_trouble(m.why)); },
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
  auto result = core().on_hello(who, now());
  if (!result.accepted)
    return to_error(result.refused);
  state_->handles[result.accepted->worker] = handle;
  monitor(handle);
  log().info("node {} joined from {} (pid {})", who.name, who.host, who.pid);
  // Before what follows: it may be excluded once more.
  if (config_.on_joined)
    config_.on_joined(who.name);
  perform(result.then);
  return *result.accepted;
}

void coordinator_shell::on_tick() {
  if (int injected = fault_point("coordinator.tick"))
    throw std::system_error(injected, std::generic_category(), "a tick");
  tick();
  const bool due = summaries_due();
  if (due)
    refresh_workers();
  if (due && state_->record)
    refresh_probe(core(), record(), status());
  if (config_.on_tick)
    config_.on_tick(core());
  delayed_send(this, tick_every, coordinator_tick{});
}

} // namespace ballast
