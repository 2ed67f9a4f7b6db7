#include "actors/gpu_worker.hpp"

#include "actors/handler_exception.hpp"
#include "actors/types.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/run_mark.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <unistd.h>

namespace ballast {

namespace {

using namespace std::chrono_literals;
using worker_pointer = gpu_worker_actor::stateful_pointer<gpu_worker_state>;

/// How often applied steps are reported. Well below the 100 ms within which a
/// committed step must be on disk.
constexpr auto report_every = 25ms;
constexpr auto hello_deadline = 5s;
/// Between two hellos to coordinators that lead other runs.
constexpr auto stranger_pause = 500ms;

/// Reports of the engine come from its threads; they enter as messages.
engine_listener listen(worker_pointer self) {
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

void send_progress(worker_pointer self, const gpu_worker_config& config) {
  // Also without a coordinator, so that nothing piles up: the next one asks for
  // every step that it does not know of.
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
    report.costs.push_back({uint32_t(one.rows), one.compute_ns, one.waited_ns});
    if (!probe)
      continue;
    probe->step({double(one.data_ns) / 1e9, double(one.compute_ns) / 1e9,
                 double(one.reduce_ns) / 1e9, double(one.apply_ns) / 1e9},
                one.rows);
    probe->collective_bytes(one.reduced_bytes);
  }
  if (!self->state.alone)
    self->send(self->state.coordinator, std::move(report));
}

void count_error(const gpu_worker_config& config, errc code) {
  if (auto probe = config.probes ? config.probes->get() : nullptr)
    probe->error(code);
}

void leave_run(worker_pointer self, const gpu_worker_config& config,
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
  if (state.leaving) { // nothing is left to wait for
    config.on_exit(0, "");
    return;
  }
  state.engine->leave(order.reason);
  if (config.probes)
    config.probes->set(nullptr);
  log_to_stderr_only();
}

void begin_run(worker_pointer self, const gpu_worker_config& config,
               const assignment& order) {
  auto& state = self->state;
  state.run = order.run;
  state.run_folder = order.run_folder;
  state.run_mark = run_mark(order.token, order.run);
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

void search(worker_pointer self, const gpu_worker_config& config);
void not_taken(worker_pointer self, const gpu_worker_config& config,
               const caf::error& refused);

void say_hello(worker_pointer self, const gpu_worker_config& config) {
  auto& state = self->state;
  worker_hello hello = config.hello;
  if (state.in_run) {
    hello.was = state.me.worker;
    hello.run = state.run;
    hello.run_mark = state.run_mark;
  }
  hello.leaving = state.leaving;
  hello.not_for = state.dismissed;
  hello.seen = state.engine->newest();
  self->monitor(state.coordinator);
  self->request(state.coordinator, hello_deadline, hello_atom::value, hello,
                gpu_worker_actor(self))
      .then(
          [=](const welcome& answer) {
            auto& state = self->state;
            bool same = state.me.worker == answer.worker;
            state.me = answer;
            state.alone = false; // until here nothing is sent that counts
            state.frozen = false;
            state.refusal.clear();
            log().info("joined as {}.{} (worker {})", config.hello.name,
                       answer.incarnation, value(answer.worker));
            if (state.in_run && !same) {
              // Nobody waited for what it held.
              state.in_run = false;
              state.engine->leave("joins again as a new worker");
              if (state.leaving)
                config.on_exit(130, "ended by a signal");
            }
            if (!std::exchange(state.beating, true))
              self->delayed_send(self,
                                 std::chrono::milliseconds(answer.heartbeat_ms),
                                 alive_atom::value);
          },
          [=](const caf::error& refused) { not_taken(self, config, refused); });
}

/// How long it waits for another coordinator; 0: it ends without one.
uint32_t patience_s(const gpu_worker_state& state,
                    const gpu_worker_config& config) {
  if (!config.look_again)
    return 0;
  if (state.in_run)
    return state.orphan_s;
  // A child of `run` that holds nothing is replaced more quickly than found.
  return config.once || !state.beating ? 0 : config.idle_wait_s;
}

/// Dead again before it answered, the old one in its last moments, which still
/// knows this worker, or one that leads other runs? Patience has its end.
void not_taken(worker_pointer self, const gpu_worker_config& config,
               const caf::error& refused) {
  auto& state = self->state;
  failure why = to_failure(refused);
  bool final = why.code == errc::name_taken || why.code == errc::other_build ||
               why.code == errc::usage;
  if (patience_s(state, config) == 0 || (!state.in_run && final)) {
    config.on_exit(1, why.message);
    return;
  }
  state.alone = true;
  if (why.code != errc::other_run)
    return search(self, config);
  if (std::exchange(state.refusal, why.message) != why.message)
    log().warn("{}", why.message);
  self->delayed_send(self, stranger_pause, join_atom::value);
}

/// The coordinator is gone. What trains goes on; a new one may come.
void look_again(worker_pointer self, const gpu_worker_config& config) {
  auto& state = self->state;
  if (state.alone)
    return;
  uint32_t patience = patience_s(state, config);
  if (patience == 0) {
    config.on_exit(1, "the coordinator is gone: its connection closed");
    return;
  }
  log().warn("the coordinator is gone; waits for another one for {} s once "
             "nothing can be done without it",
             patience);
  state.alone = true;
  state.still_since = std::chrono::steady_clock::now();
  search(self, config);
}

/// What it holds is of no use any more; it is a new worker from now on.
void drop_run(worker_pointer self, const gpu_worker_config& config,
              const std::string& reason) {
  self->state.in_run = false;
  self->state.engine->leave(reason);
  if (self->state.leaving)
    config.on_exit(130, "ended by a signal");
  else
    say_hello(self, config);
}

/// The run goes on without this node.
void dismissed(worker_pointer self, const gpu_worker_config& config,
               const std::string& reason) {
  log().error("takes no more part in run {}: {}", self->state.run, reason);
  if (config.once) {
    config.on_exit(1, reason);
    return;
  }
  self->state.dismissed = self->state.run;
  drop_run(self, config, reason);
}

/// Comes back as a message with the coordinator, once one answers.
void search(worker_pointer self, const gpu_worker_config& config) {
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
void check_patience(worker_pointer self, const gpu_worker_config& config) {
  auto& state = self->state;
  heartbeat now = state.engine->now();
  bool moves = !state.frozen && now.step != state.last_step;
  state.last_step = now.step;
  auto at = std::chrono::steady_clock::now();
  if (moves)
    state.still_since = at;
  uint32_t patience = patience_s(state, config);
  if (at - state.still_since > std::chrono::seconds(patience))
    config.on_exit(1, "no coordinator came back within " +
                          std::to_string(patience) + " s" +
                          (state.refusal.empty() ? "" : ": " + state.refusal));
}

} // namespace

gpu_worker_actor::behavior_type gpu_worker(worker_pointer self,
                                           coordinator_actor coordinator,
                                           gpu_worker_config config) {
  on_handler_exception(self, "worker", [config](const std::string& why) {
    config.on_exit(1, why);
  });
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
        // Its drain was sent to an earlier coordinator, or crossed this one.
        if (self->state.leaving && !self->state.in_run)
          return;
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
        if (!ack.more) // the rest is asked for at once
          log().warn("fenced up to generation {}: {}; holds {}",
                     value(order.level), order.reason,
                     ack.holds_state ? "step " + to_string(ack.step)
                                     : "no state");
        self->send(self->state.coordinator, std::move(ack));
      },
      [=](const command& order) {
        if (order.kind == command_kind::expel && current(order.term)) {
          log().warn("excluded: {}; joins again as a new worker", order.reason);
          drop_run(self, config, order.reason);
          return;
        }
        if (order.kind == command_kind::dismiss && current(order.term)) {
          dismissed(self, config, order.reason);
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
            order.kind == command_kind::damage ||
            order.kind == command_kind::recorded) {
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
        count_error(config, message.code);
        pass_on(message);
      },
      [=](const state_copied& message) { pass_on(message); },
      [=](const chunks_fetched& message) {
        count_error(config, message.problem.code);
        pass_on(message);
      },
      [=](join_atom) {
        if (self->state.alone)
          search(self, config);
        else
          say_hello(self, config);
      },
      [=](join_atom, const caf::strong_actor_ptr& found) {
        self->state.searching = false;
        self->state.coordinator = caf::actor_cast<coordinator_actor>(found);
        say_hello(self, config);
      },
      [=](drain_atom) {
        auto& state = self->state;
        if (!state.in_run || state.alone) {
          config.on_exit(130, "ended by a signal");
          return;
        }
        log().info("was asked to end: leaves run {}", state.run);
        state.leaving = true;
        self->send(state.coordinator, drain_atom::value, state.me.worker);
      },
      [=](freeze_atom) {
        if (!self->state.in_run || patience_s(self->state, config) == 0) {
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
        if (int injected = fault_point("worker.heartbeat"))
          throw std::system_error(injected, std::generic_category(),
                                  "a heartbeat");
        heartbeat beat = self->state.engine->now();
        beat.worker = self->state.me.worker;
        if (config.device_trouble)
          beat.trouble = config.device_trouble();
        if (!self->state.alone)
          self->send(self->state.coordinator, beat);
        else if (!self->state.in_run)
          check_patience(self, config); // else at every tick of the run
        self->delayed_send(
            self, std::chrono::milliseconds(self->state.me.heartbeat_ms),
            alive_atom::value);
      },
  };
}

} // namespace ballast
