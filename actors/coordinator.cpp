#include "actors/coordinator.hpp"

#include "actors/coordinator_shell.hpp"
#include "actors/handler_exception.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/json_text.hpp"

#include <chrono>
#include <set>
#include <string>
#include <system_error>

namespace ballast {

namespace {

using namespace std::chrono_literals;
using coordinator_pointer =
    coordinator_actor::stateful_pointer<coordinator_state>;

constexpr auto tick_every = 50ms;

/// Gauges that follow from the state, not from events.
void refresh_probe(coordinator_probe& probe, const run_status& status) {
  probe.state(to_string(status.state));
  if (status.run) {
    const run_status::balancing& done = status.run->balance;
    probe.balance({.makespan_ratio = done.makespan_ratio,
                   .moves_in_flight = done.moves_in_flight,
                   .moved_by_skew = done.moved_by_skew,
                   .moved_by_size = done.moved_rows - done.moved_by_skew -
                                    done.moved_by_coverage,
                   .moved_by_coverage = done.moved_by_coverage,
                   .bound = done.bound_rows,
                   .bytes = done.moved_bytes});
  }
  std::set<std::string> members;
  for (const worker_status& one : status.workers) {
    if (one.state == worker_standing::lost || !one.share)
      continue;
    members.insert(one.name);
    probe.worker_report(one.name, one.samples_per_s, one.share->batch,
                        one.share->rows_owned, one.share->skew_tv);
    if (one.share->copy_bytes_per_s)
      probe.copy_rate(one.name, *one.share->copy_bytes_per_s);
    if (one.heartbeat_age)
      probe.heartbeat_age(one.name, one.heartbeat_age->count());
  }
  // What nobody owns any more must not count into a sum over the workers. A
  // name may have come back.
  for (const worker_status& one : status.workers)
    if (!members.contains(one.name))
      probe.worker_gone(one.name);
}

} // namespace

coordinator_actor::behavior_type coordinator(coordinator_pointer self,
                                             shard_manager_actor shards,
                                             coordinator_shell_config config) {
  config.core.tick = tick_every;
  self->state.core =
      std::make_unique<coordinator_core>(config.core, self->state.box);
  self->state.shards = std::move(shards);
  auto me = std::make_shared<coordinator_shell>(self, std::move(config));
  on_handler_exception(self, "coordinator", me->config().on_defect);
  self->set_down_handler([me](const caf::down_msg& m) { me->down(m); });
  self->delayed_send(self, tick_every, tick_atom::value);
  return {
      [=](hello_atom, const worker_hello& hello,
          const gpu_worker_actor& handle) -> caf::result<welcome> {
        const auto answer = me->core().hello(hello, me->now());
        if (const auto* refused = std::get_if<failure>(&answer))
          return to_error(*refused);
        const welcome& accepted = std::get<welcome>(answer);
        self->state.handles[accepted.worker] = handle;
        self->monitor(handle);
        log().info("node {} joined from {} (pid {})", hello.name, hello.host,
                   hello.pid);
        // Before what follows: it may be excluded once more.
        if (me->config().on_joined)
          me->config().on_joined(hello.name);
        me->perform(self->state.box.take());
        return accepted;
      },
      [=](const heartbeat& m) { me->core().take(m, me->now()); },
      [=](const worker_report& m) { me->tell_core(m); },
      [=](submit_atom, const std::string& job, const std::string& folder) {
        return me->submit(job, folder);
      },
      [=](control_atom, const std::string& text)
          -> caf::result<int, std::string> { return me->control(text); },
      [=](status_atom) { return json_text(status_json(me->status())); },
      [=](exited_atom, const std::string& name, const process_end& how) {
        me->tell_core(process_ended{name, how});
      },
      [=](signal_atom) {
        (void)me->core().ask(stop_run{true}, me->now());
        me->perform(self->state.box.take());
      },
      [=](drain_atom, worker_id who) { me->tell_core(leave_announced{who}); },
      [=](resume_atom, const std::string& text) { return me->resume(text); },
      [=](saved_atom, const checkpoint_identity& after, const std::string& file,
          const failure& problem) {
        me->tell_core(checkpoint_written{after, file, problem});
      },
      [=](saved_atom, const saved_model& what) { me->model_saved(what); },
      [=](trouble_atom, const failure& why) {
        me->tell_core(outside_trouble{why});
      },
      [=](ended_atom, int exit_code, const std::string& report) {
        me->ended(exit_code, report);
      },
      [=](tick_atom) {
        if (int injected = fault_point("coordinator.tick"))
          throw std::system_error(injected, std::generic_category(), "a tick");
        me->tick();
        const bool due = me->summaries_due();
        if (due)
          me->refresh_workers();
        if (due && self->state.record)
          refresh_probe(*self->state.record->probe(), me->status());
        if (me->config().on_tick && me->core().active())
          me->config().on_tick(me->status());
        self->delayed_send(self, tick_every, tick_atom::value);
      },
  };
}

} // namespace ballast
