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
          .copied = post,
          .fetched = post,
          .evaluated = post,
          .paused = post,
          .finished = post,
          .failed = post};
}

void send_progress(pointer self, const gpu_worker_config& config) {
  if (self->state.alone)
    return; // kept for the next one
  step_progress done = self->state.engine->drain();
  if (done.steps.empty())
    return;
  auto probe = config.probes ? config.probes->get() : nullptr;
  heartbeat now = self->state.engine->now();
  progress_report report;
  report.worker = now.worker;
  report.generation = now.generation;
  report.steps = std::move(done.steps);
  report.store_free_bytes = done.store_free_bytes;
  for (const step_timing& one : done.timings) {
    report.rows += one.rows;
    report.data_ns += one.data_ns;
    report.compute_ns += one.compute_ns;
    report.reduce_ns += one.reduce_ns;
    report.apply_ns += one.apply_ns;
    report.costs.push_back({uint32_t(one.rows), one.compute_ns});
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
  state.run_folder = order.run_folder;
  state.orphan_s = order.orphan_s;
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

void search(pointer self, const gpu_worker_config& config);

void say_hello(pointer self, const gpu_worker_config& config) {
  auto& state = self->state;
  worker_hello hello = config.hello;
  if (state.in_run) {
    hello.was = state.me.worker;
    hello.run = state.run;
  }
  hello.seen = state.engine->newest();
  self->monitor(state.coordinator);
  self->request(state.coordinator, hello_deadline, hello_atom::value, hello,
                gpu_worker_actor(self))
      .then(
          [=](const welcome& answer) {
            auto& state = self->state;
            bool same = state.me.worker == answer.worker;
            state.me = answer;
            log().info("joined as {}.{} (worker {})", config.hello.name,
                       answer.incarnation, value(answer.worker));
            if (state.in_run && !same) {
              // Nobody waited for what it held.
              state.in_run = false;
              state.engine->leave("joins again as a new worker");
            }
            if (!std::exchange(state.beating, true))
              self->delayed_send(self,
                                 std::chrono::milliseconds(answer.heartbeat_ms),
                                 alive_atom::value);
          },
          [=](const caf::error& refused) {
            // Dead again before it answered, or the old one in its last
            // moments, which still knows this worker? Patience has its end.
            if (self->state.in_run && config.look_again) {
              self->state.alone = true;
              search(self, config);
              return;
            }
            config.on_exit(1, to_failure(refused).message);
          });
}

/// The coordinator is gone. What trains goes on; a new one may come.
void look_again(pointer self, const gpu_worker_config& config) {
  auto& state = self->state;
  if (state.alone)
    return;
  if (!state.in_run || !config.look_again || state.orphan_s == 0) {
    config.on_exit(1, "the coordinator is gone: its connection closed");
    return;
  }
  log().warn("the coordinator is gone; waits for another one for {} s once "
             "nothing can be done without it",
             state.orphan_s);
  state.alone = true;
  state.still_since = std::chrono::steady_clock::now();
  search(self, config);
}

/// Comes back as a message with the coordinator, once one answers.
void search(pointer self, const gpu_worker_config& config) {
  if (std::exchange(self->state.searching, true))
    return;
  caf::actor_addr weak = self->address();
  config.look_again(self->state.run_folder, [weak](coordinator_actor found) {
    if (auto me = caf::actor_cast<caf::actor>(weak))
      caf::anon_send(me, join_atom::value,
                     caf::actor_cast<caf::strong_actor_ptr>(found));
  });
}

/// While it trains on its own no time runs.
void check_patience(pointer self, const gpu_worker_config& config) {
  auto& state = self->state;
  heartbeat now = state.engine->now();
  bool moves = !state.frozen && now.step != state.last_step;
  state.last_step = now.step;
  auto at = std::chrono::steady_clock::now();
  if (moves)
    state.still_since = at;
  if (at - state.still_since > std::chrono::seconds(state.orphan_s))
    config.on_exit(1, "no coordinator came back within " +
                          std::to_string(state.orphan_s) + " s");
}

} // namespace

gpu_worker_actor::behavior_type gpu_worker(pointer self,
                                           coordinator_actor coordinator,
                                           gpu_worker_config config) {
  self->state.coordinator = std::move(coordinator);
  self->state.engine = config.make_engine(listen(self));
  self->set_down_handler([=](const caf::down_msg& message) {
    if (message.source == self->state.coordinator.address())
      look_again(self, config);
  });
  auto pass_on = [=](auto message) {
    // What was applied before comes first.
    send_progress(self, config);
    if (!self->state.alone) // a fence will ask again
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
        if (order.kind == command_kind::slow ||
            order.kind == command_kind::damage) {
          self->state.engine->tell(order);
          return;
        }
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
      [=](const fetch_order& order) {
        if (current(order.term))
          self->state.engine->fetch(order);
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
      [=](const state_copied& message) { pass_on(message); },
      [=](const chunks_fetched& message) { pass_on(message); },
      [=](join_atom) { say_hello(self, config); },
      [=](join_atom, const caf::strong_actor_ptr& found) {
        self->state.searching = false;
        self->state.coordinator = caf::actor_cast<coordinator_actor>(found);
        self->state.alone = false;
        self->state.frozen = false;
        say_hello(self, config);
      },
      [=](drain_atom) {
        auto& state = self->state;
        if (!state.in_run || state.alone) {
          config.on_exit(130, "ended by a signal");
          return;
        }
        log().info("was asked to end: leaves run {}", state.run);
        self->send(state.coordinator, drain_atom::value, state.me.worker);
      },
      [=](freeze_atom) {
        if (!self->state.in_run || !config.look_again ||
            self->state.orphan_s == 0) {
          config.on_exit(1, "the run was killed");
          return;
        }
        log().warn("the run was killed: keeps what it has");
        self->state.frozen = true;
        self->state.engine->freeze("the run was killed");
        look_again(self, config);
      },
      [=](tick_atom) {
        if (!self->state.in_run)
          return;
        send_progress(self, config);
        if (self->state.alone)
          check_patience(self, config);
        self->delayed_send(self, report_every, tick_atom::value);
      },
      [=](alive_atom) {
        heartbeat beat = self->state.engine->now();
        beat.worker = self->state.me.worker;
        if (config.device_trouble)
          beat.trouble = config.device_trouble();
        if (!self->state.alone)
          self->send(self->state.coordinator, beat);
        self->delayed_send(
            self, std::chrono::milliseconds(self->state.me.heartbeat_ms),
            alive_atom::value);
      },
  };
}

} // namespace ballast
