#include "actors/gpu_worker.hpp"

#include "actors/handler_exception.hpp"
#include "actors/types.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/thread_name.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <unistd.h>
#include <utility>

namespace ballast::actors {

using worker::link_step;

namespace {

using namespace std::chrono_literals;

/// How often applied steps are reported. Well below the 100 ms within which a
/// committed step must be on disk.
constexpr auto report_every = 25ms;
/// How often a node without run and coordinator looks at the time.
constexpr auto look_at_time_every = 200ms;
constexpr auto hello_deadline = 5s;
/// Between two hellos to coordinators that lead other runs.
constexpr auto stranger_pause = 500ms;

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

/// Both as messages to this actor, from the engine's threads. Weak: the engine
/// belongs to it.
engine_listener listen(caf::actor_addr weak) {
  return {.report =
              [weak](worker_report what) {
                if (auto me = caf::actor_cast<local_worker_actor>(weak))
                  caf::anon_send(me, std::move(what));
              },
          .left =
              [weak] {
                if (auto me = caf::actor_cast<local_worker_actor>(weak))
                  caf::anon_send(me, drop_atom::value);
              }};
}

/// Where this process sees that folder. It trains as well without.
void log_beside_run(const std::filesystem::path& logs) {
  std::error_code none;
  if (!std::filesystem::is_directory(logs, none))
    return;
  try {
    monitor::log_to_folder(logs);
  } catch (const ballast_error& e) {
    monitor::log().warn("{}; let this node write there, or read its log here: "
                        "it goes to stderr alone",
                        e.what());
  }
}

/// Where most came from of what was read between the two.
rows_source source_of(const data::bytes_read& before,
                      const data::bytes_read& now) {
  const uint64_t origin = now.origin - std::min(before.origin, now.origin);
  const uint64_t on_disk = now.set + now.kept;
  const uint64_t disk = on_disk - std::min(before.set + before.kept, on_disk);
  if (origin + disk == 0)
    return rows_source::unknown;
  return origin > disk ? rows_source::origin : rows_source::disk;
}

/// What the step thread did, in one message; and for the metrics.
progress_report report_of(gpu::step_progress done, const heartbeat& now,
                          monitor::worker_probe* probe) {
  progress_report out;
  out.worker = now.worker;
  out.generation = now.generation;
  out.steps = std::move(done.steps);
  out.store_free_bytes = done.store_free_bytes;
  if (probe)
    probe->rows_read(done.read);
  for (const gpu::step_timing& one : done.timings) {
    out.rows += one.rows;
    out.data_ns += one.data_ns;
    out.compute_ns += one.compute_ns;
    out.reduce_ns += one.reduce_ns;
    out.apply_ns += one.apply_ns;
    if (one.gradient_rows < one.rows) {
      ++out.drawn_steps;
      out.drawn_from += one.rows;
      out.drawn_rows += one.gradient_rows;
    }
    out.costs.push_back({uint32_t(one.rows + one.checked_rows - one.kept_rows),
                         one.compute_ns + one.data_ns, one.waited_ns});
    // A newcomer reports steps that it has not made.
    if (probe && one.compute_ns + one.reduce_ns + one.apply_ns > 0)
      probe->step({double(one.data_ns) / 1e9, double(one.compute_ns) / 1e9,
                   double(one.reduce_ns) / 1e9, double(one.apply_ns) / 1e9},
                  one.rows, one.gradient_rows);
  }
  return out;
}

} // namespace

gpu_worker::gpu_worker(caf::actor_config& base, coordinator_actor coordinator,
                       gpu_worker_config config)
    : local_worker_actor::base(base), config_(std::move(config)),
      coordinator_(std::move(coordinator)),
      link_({.once = config_.once,
             .looks_again = config_.look_again != nullptr,
             .idle_wait_s = config_.idle_wait_s}) {}

local_worker_actor::behavior_type gpu_worker::make_behavior() {
  auto on_defect = [leave = config_.on_exit](const std::string& why) {
    leave(1, why);
  };
  on_handler_exception(this, "worker", on_defect);
  engine_ = config_.make_engine(listen(address()));
  heart_config beats{.now = [engine = engine_] { return engine->now(); },
                     .device_trouble = config_.device_trouble,
                     .on_defect = on_defect,
                     .own_thread = config_.heart_has_thread};
  heart_ = config_.heart_has_thread ? spawn<heart, caf::detached>(beats)
                                    : spawn<heart>(beats);
  set_down_handler([this](const caf::down_msg& message) {
    if (message.source == coordinator_.address())
      carry_out(link_.on_coordinator_lost(now()));
  });
  return {
      [this](const assignment& order) { on_assignment(order); },
      [this](const connect_order& order) {
        if (link_.takes(order.term))
          engine_->connect(order);
      },
      [this](const fence_order& order) { on_fence(order); },
      [this](const command& order) { on_command(order); },
      [this](const fetch_order& order) {
        if (link_.takes(order.term))
          engine_->fetch(order);
      },
      [this](const plan_offer& order) {
        if (link_.takes(order.term))
          engine_->offer(order);
      },
      [this](const prepare_fragment& order) { on_fragment(order); },
      [this](const worker_report& what) { on_report(what); },
      [this](const fragment_ready& what) {
        fragment_ready out = what;
        out.worker = link_.me().worker;
        if (!link_.alone())
          send(coordinator_, std::move(out));
      },
      [this](drop_atom) { carry_out(link_.on_dropped()); },
      [this](join_atom) {
        if (link_.alone())
          search();
        else
          say_hello();
      },
      [this](join_atom, const caf::strong_actor_ptr& found) {
        searching_ = false;
        coordinator_ = caf::actor_cast<coordinator_actor>(found);
        say_hello();
      },
      [this](drain_atom) { carry_out(link_.on_asked_to_end()); },
      [this](freeze_atom) { carry_out(link_.on_run_killed()); },
      [this](tick_atom) { tick(); },
  };
}

void gpu_worker::on_exit() {
  if (heart_)
    send_exit(heart_, caf::exit_reason::user_shutdown);
  heart_ = nullptr;
  fragments_.reset();
  if (fragments_end_.joinable())
    fragments_end_.join();
  engine_.reset();
}

instant gpu_worker::now() const {
  return std::chrono::steady_clock::now().time_since_epoch();
}

// -- reports ------------------------------------------------------------------

void gpu_worker::pass_on(const worker_report& what) {
  send_progress();
  report(what);
}

/// Whatever happens while it is alone a fence asks for again.
void gpu_worker::report(worker_report what) {
  if (!link_.alone())
    send(coordinator_, std::move(what));
}

/// Also without a coordinator, so that nothing piles up: the next one asks for
/// every step that it does not know of.
void gpu_worker::send_progress() {
  gpu::step_progress done = engine_->drain();
  auto probe = config_.probes ? config_.probes->get() : nullptr;
  if (probe)
    probe->collective_bytes(done.bytes_sent);
  if (done.steps.empty())
    return;
  const data::bytes_read now = done.read;
  const data::bytes_read before = std::exchange(read_, now);
  progress_report out = report_of(std::move(done), engine_->now(), probe.get());
  out.rows_from = source_of(before, now);
  // Of another run they begin anew. Untold, every plan waits for its bytes.
  if (fault_point("reads.told") == 0) {
    out.read_bytes = now.timed - std::min(before.timed, now.timed);
    out.read_ns = now.timed_ns - std::min(before.timed_ns, now.timed_ns);
  }
  report(std::move(out));
}

void gpu_worker::count_error(errc code) {
  if (auto probe = config_.probes ? config_.probes->get() : nullptr)
    probe->error(code);
}

void gpu_worker::on_report(const worker_report& what) {
  if (auto* failed = std::get_if<worker_failed>(&what)) {
    monitor::log().error("{}", failed->message);
    count_error(failed->code);
  } else if (auto* fetched = std::get_if<chunks_fetched>(&what)) {
    count_error(fetched->problem.code);
  }
  pass_on(what);
}

void gpu_worker::tick() {
  ticking_ = false;
  if (link_.in_run())
    send_progress();
  if (link_.alone())
    carry_out(link_.on_time(engine_->now().step, now()));
  keep_time();
}

/// As long as there is something to look at.
void gpu_worker::keep_time() {
  if ((!link_.in_run() && !link_.alone()) || std::exchange(ticking_, true))
    return;
  if (link_.in_run())
    delayed_send(this, report_every, tick_atom::value);
  else
    delayed_send(this, look_at_time_every, tick_atom::value);
}

// -- orders -------------------------------------------------------------------

void gpu_worker::on_assignment(const assignment& order) {
  if (!link_.takes(order.term))
    monitor::log().warn("an order of an earlier coordinator is ignored: to "
                        "load run {}, of term {}; {} leads since then",
                        order.run, value(order.term), value(link_.me().term));
  if (link_.on_assignment(order).what != link_step::take)
    return;
  end_fragments();
  set_heart();
  if (config_.probes)
    config_.probes->set(
        std::make_shared<monitor::worker_probe>(order.run, order.name));
  std::filesystem::path logs = std::filesystem::path(order.run_folder) / "logs";
  if (config_.log_to_folder && !order.run_folder.empty())
    log_beside_run(logs);
  monitor::log().info("run {}, generation {}: loading as {}.{}", order.run,
                      value(order.generation), order.name, order.incarnation);
  engine_->load(order);
  if (!link_.takes(order.term))
    monitor::log().warn("an order of an earlier coordinator is ignored: to "
                        "load run {}, of term {}; {} leads since then",
                        order.run, value(order.term), value(link_.me().term));
  keep_time();
}

// -- files for a set that is prepared -----------------------------------------

void gpu_worker::on_fragment(const prepare_fragment& order) {
  if (!link_.takes(order.term))
    return;
  const caf::actor_addr weak = address();
  const auto answer = [weak](fragment_ready what) {
    if (auto me = caf::actor_cast<local_worker_actor>(weak))
      caf::anon_send(me, std::move(what));
  };
  if (!config_.fragments)
    return answer(
        {.number = order.number, .key = order.key, .why = "it reads no files"});
  if (!fragments_)
    fragments_ = std::make_unique<fragment_worker>(*config_.fragments, answer);
  fragments_->add(order);
}

/// A run begins: the set is there. Its threads may be in the midst of a block
/// of a slow disk.
void gpu_worker::end_fragments() {
  if (!fragments_)
    return;
  fragments_->set_is_made();
  fragments_end_ = std::jthread([old = std::move(fragments_)]() mutable {
    name_this_thread("bl-files-end");
    old.reset();
  });
}

void gpu_worker::on_fence(const fence_order& order) {
  if (!link_.takes(order.term))
    return;
  final_ack ack = engine_->fence(order);
  ack.worker = link_.me().worker;
  if (!ack.more) // the rest is asked for at once
    monitor::log().warn("fenced up to generation {}: {}; holds {}",
                        value(order.level), order.reason,
                        ack.holds_state ? "step " + to_string(ack.step)
                                        : "no state");
  send(coordinator_, worker_report(std::move(ack)));
}

void gpu_worker::on_command(const command& order) {
  const std::string run = link_.run();
  const worker::link_decision decided =
      link_.on_command(order, engine_->now().generation);
  if (decided.what == link_step::take)
    return engine_->tell(order);
  if (decided.what == link_step::kill)
    ::kill(::getpid(), SIGKILL);
  if (decided.what == link_step::stall)
    return stall(order.seconds);
  if (decided.what == link_step::ignore)
    return;
  const bool over = order.kind == command_kind::release ||
                    order.kind == command_kind::abandon;
  if (order.kind == command_kind::expel)
    monitor::log().warn("excluded: {}; joins again as a new worker",
                        order.reason);
  else if (order.kind == command_kind::dismiss)
    monitor::log().error("takes no more part in run {}: {}", run, order.reason);
  else if (order.kind == command_kind::leave)
    monitor::log().info("has left run {}", run);
  else if (order.kind == command_kind::abandon)
    monitor::log().warn("run {} is abandoned: {}", run, order.reason);
  else
    monitor::log().info("run {} is over", run);
  carry_out(decided);
  if (over && decided.what == link_step::drop_run) {
    if (config_.probes)
      config_.probes->set(nullptr);
    monitor::log_to_stderr_only();
  }
}

// -- the coordinator ----------------------------------------------------------

void gpu_worker::carry_out(const worker::link_decision& order) {
  switch (order.what) {
  case link_step::say_hello:
    say_hello();
    break;
  case link_step::hello_later:
    if (!order.reason.empty())
      monitor::log().warn("{}", order.reason);
    delayed_send(this, stranger_pause, join_atom::value);
    break;
  case link_step::look_again:
    if (!order.reason.empty())
      monitor::log().warn("{}", order.reason);
    search();
    break;
  case link_step::drop_run:
    engine_->leave(order.reason);
    break;
  case link_step::ask_to_leave:
    monitor::log().info("was asked to end: leaves run {}", link_.run());
    send(coordinator_, drain_atom::value, link_.me().worker);
    break;
  case link_step::freeze:
    monitor::log().warn("the run was killed: keeps order it has");
    engine_->freeze(order.reason);
    carry_out(link_.on_coordinator_lost(now()));
    break;
  case link_step::end:
    config_.on_exit(order.exit_code, order.reason);
    break;
  default: // take, kill and stall are of orders
    break;
  }
  set_heart();
  keep_time();
}

void gpu_worker::set_heart() {
  const pulse wanted{link_.alone() ? coordinator_actor() : coordinator_,
                     link_.me().worker, link_.me().heartbeat_ms};
  if (!link_.welcomed() || wanted == pulse_)
    return;
  pulse_ = wanted;
  send(heart_, alive_atom::value,
       caf::actor_cast<caf::strong_actor_ptr>(wanted.to), wanted.self,
       wanted.every_ms);
}

void gpu_worker::say_hello() {
  monitor(coordinator_);
  request(coordinator_, hello_deadline, hello_atom::value,
          link_.hello(config_.hello, engine_->newest()),
          caf::actor_cast<gpu_worker_actor>(this))
      .then(
          [this](const welcome& answer) {
            const worker::link_decision decided = link_.on_welcome(answer);
            monitor::log().info("joined as {}.{} (worker {})",
                                config_.hello.name, answer.incarnation,
                                value(answer.worker));
            carry_out(decided);
          },
          [this](const caf::error& refused) {
            carry_out(link_.on_refused(to_failure(refused), now()));
          });
}

/// Comes back as a message with the coordinator, once one answers.
void gpu_worker::search() {
  if (std::exchange(searching_, true))
    return;
  caf::actor_addr weak = address();
  config_.look_again(link_.run_folder(), [weak](coordinator_actor found) {
    if (auto me = caf::actor_cast<local_worker_actor>(weak))
      caf::anon_send(me, join_atom::value,
                     caf::actor_cast<caf::strong_actor_ptr>(found));
  });
}

} // namespace ballast::actors
