#include "actors/gpu_worker.hpp"

#include "actors/types.hpp"
#include "monitor/log.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <unistd.h>

namespace ballast {

namespace {

using namespace std::chrono_literals;
using pointer = gpu_worker_actor::stateful_pointer<gpu_worker_state>;

/// How often applied steps are reported. Well below the 100 ms within which a
/// committed step must be on disk.
constexpr auto report_every = 25ms;
constexpr auto hello_deadline = 5s;

/// Reports of the engine come from its threads; they enter as messages.
engine_listener listen(pointer self) {
  // Weak: the engine lives in this actor's state.
  caf::actor_addr weak = self->address();
  auto post = [weak](auto message) {
    if (auto me = caf::actor_cast<caf::actor>(weak))
      caf::anon_send(me, std::move(message));
  };
  return {.loaded = post,
          .ready = post,
          .evaluated = post,
          .paused = post,
          .finished = post,
          .failed = post};
}

void send_progress(pointer self, const gpu_worker_config& config) {
  step_progress done = self->state.engine->drain();
  if (done.steps.empty())
    return;
  auto probe = config.probes ? config.probes->get() : nullptr;
  heartbeat now = self->state.engine->now();
  progress_report report;
  report.worker = now.worker;
  report.generation = now.generation;
  report.steps = std::move(done.steps);
  for (const step_timing& one : done.timings) {
    report.rows += one.rows;
    report.data_ns += one.data_ns;
    report.compute_ns += one.compute_ns;
    report.reduce_ns += one.reduce_ns;
    report.apply_ns += one.apply_ns;
    if (probe)
      probe->step({double(one.data_ns) / 1e9, double(one.compute_ns) / 1e9,
                   double(one.reduce_ns) / 1e9, double(one.apply_ns) / 1e9},
                  one.rows);
  }
  self->send(self->state.coordinator, std::move(report));
}

void leave_run(pointer self, const gpu_worker_config& config,
               const command& order) {
  auto& state = self->state;
  bool abandoned = order.kind == command_kind::abandon;
  if (abandoned)
    log().warn("run {} is abandoned: {}", state.run, order.reason);
  else
    log().info("run {} is over", state.run);
  state.in_run = false;
  // A node that ends anyway does not wait for a collective to give up.
  if (config.once) {
    config.on_exit(abandoned ? 1 : 0, order.reason);
    return;
  }
  state.engine->leave(order.reason);
  if (config.probes)
    config.probes->set(nullptr);
  log_to_stderr_only();
}

void begin_run(pointer self, const gpu_worker_config& config,
               const assignment& order) {
  auto& state = self->state;
  state.run = order.run;
  if (config.probes)
    config.probes->set(std::make_shared<worker_probe>(order.run, order.name));
  std::filesystem::path logs = std::filesystem::path(order.run_folder) / "logs";
  if (config.log_to_folder && !order.run_folder.empty() &&
      std::filesystem::is_directory(logs))
    log_to_folder(logs);
  log().info("run {}, generation {}: loading as {}.{}", order.run,
             value(order.generation), order.name, order.incarnation);
  state.engine->load(order);
  if (!state.in_run)
    self->delayed_send(self, report_every, tick_atom::value);
  state.in_run = true;
}

/// The whole process stands still, as by SIGSTOP; a child wakes it up.
void stall(double seconds) {
  pid_t me = ::getpid();
  if (::fork() == 0) {
    ::usleep(useconds_t(std::min(seconds, 600.0) * 1e6));
    ::kill(me, SIGCONT);
    ::_exit(0);
  }
  ::kill(me, SIGSTOP);
}

void say_hello(pointer self, const gpu_worker_config& config) {
  self->monitor(self->state.coordinator);
  self->request(self->state.coordinator, hello_deadline, hello_atom::value,
                config.hello, gpu_worker_actor(self))
      .then(
          [=](const welcome& answer) {
            self->state.me = answer;
            log().info("joined as {}.{} (worker {})", config.hello.name,
                       answer.incarnation, value(answer.worker));
            if (!std::exchange(self->state.beating, true))
              self->delayed_send(self,
                                 std::chrono::milliseconds(answer.heartbeat_ms),
                                 alive_atom::value);
          },
          [=](const caf::error& refused) {
            config.on_exit(1, to_failure(refused).message);
          });
}

} // namespace

gpu_worker_actor::behavior_type gpu_worker(pointer self,
                                           coordinator_actor coordinator,
                                           gpu_worker_config config) {
  self->state.coordinator = std::move(coordinator);
  self->state.engine = config.make_engine(listen(self));
  self->set_down_handler([=](const caf::down_msg&) {
    config.on_exit(1, "the coordinator is gone: its connection closed");
  });
  auto pass_on = [=](auto message) {
    // What was applied before comes first.
    send_progress(self, config);
    self->send(self->state.coordinator, std::move(message));
  };
  auto current = [=](term from) { return from >= self->state.me.term; };
  return {
      [=](const assignment& order) {
        if (!current(order.term))
          return;
        self->state.me.term = order.term;
        self->state.me.heartbeat_ms = order.heartbeat_ms;
        begin_run(self, config, order);
      },
      [=](const connect_order& order) {
        if (current(order.term))
          self->state.engine->connect(order);
      },
      [=](const fence_order& order) {
        if (!current(order.term))
          return;
        final_ack ack = self->state.engine->fence(order);
        ack.worker = self->state.me.worker;
        log().warn("fenced up to generation {}: {}; holds {}",
                   value(order.level), order.reason,
                   ack.holds_state ? "step " + to_string(ack.step)
                                   : "no state");
        self->send(self->state.coordinator, std::move(ack));
      },
      [=](const command& order) {
        if (order.kind == command_kind::expel && current(order.term)) {
          log().warn("excluded: {}; joins again as a new worker", order.reason);
          self->state.in_run = false;
          self->state.engine->leave(order.reason);
          say_hello(self, config);
          return;
        }
        if (order.kind == command_kind::leave && current(order.term)) {
          log().info("has left run {}", self->state.run);
          self->state.in_run = false;
          config.on_exit(0, "");
          return;
        }
        if (order.kind == command_kind::kill)
          ::kill(::getpid(), SIGKILL);
        if (order.kind == command_kind::stall)
          stall(order.seconds);
        heartbeat now = self->state.engine->now();
        if (!current(order.term) || !self->state.in_run ||
            order.generation < now.generation)
          return;
        if (order.kind == command_kind::release ||
            order.kind == command_kind::abandon)
          leave_run(self, config, order);
        else
          self->state.engine->tell(order);
      },
      [=](const plan_offer& order) {
        if (current(order.term))
          self->state.engine->offer(order);
      },
      [=](const worker_loaded& message) { pass_on(message); },
      [=](const worker_ready& message) { pass_on(message); },
      [=](const evaluation_report& message) { pass_on(message); },
      [=](const worker_paused& message) { pass_on(message); },
      [=](const worker_finished& message) { pass_on(message); },
      [=](const worker_failed& message) {
        log().error("{}", message.message);
        pass_on(message);
      },
      [=](join_atom) { say_hello(self, config); },
      [=](tick_atom) {
        if (!self->state.in_run)
          return;
        send_progress(self, config);
        self->delayed_send(self, report_every, tick_atom::value);
      },
      [=](alive_atom) {
        heartbeat beat = self->state.engine->now();
        beat.worker = self->state.me.worker;
        self->send(self->state.coordinator, beat);
        self->delayed_send(
            self, std::chrono::milliseconds(self->state.me.heartbeat_ms),
            alive_atom::value);
      },
  };
}

} // namespace ballast
