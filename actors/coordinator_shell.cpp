/// Which message is which event of the coordinator, and which action is which
/// message, line or piece of work.
#include "actors/coordinator_shell.hpp"

#include "actors/handler_exception.hpp"
#include "actors/run_parent.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/coordinator/fragment_board.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <system_error>

namespace ballast::actors {

namespace {

using namespace std::chrono_literals;

constexpr auto tick_every = 50ms;
/// One that takes longer is shown while it lasts.
constexpr auto recovery_usual = 500ms;

/// What is written about all of them takes milliseconds.
bool many_workers(const coordinator::coordinator_parts& core) {
  return core.nodes.all().size() > 64;
}

/// Behind a fence, and is going to go on at once.
bool stands_still(const coordinator::coordinator_parts& core, instant now) {
  const coordinator::recovery_times* since = core.members.recovery();
  return since && now - since->begun < recovery_usual;
}

/// Asked once a tick. Of many workers every half second, and not in the way of
/// a recovery, unless that takes long.
bool summaries_due(const coordinator::coordinator_parts& core, uint64_t tick) {
  const bool waits = core.members.phase() == coordinator::run_phase::recovering;
  return tick % (waits ? 40 : 10) == 0 || !many_workers(core);
}

/// Others may clean up /dev/shm: before anything goes back to what is there.
bool memory_is_gone(const coordinator_state& state) {
  return state.core.members.active() && state.core.run.copies.in_memory() &&
         state.record->checkpoints().memory_is_gone();
}

/// As the core took it: of several workers that report one, the first counts.
void show_evaluation(const worker_report& told,
                     const coordinator::run_state& known,
                     const coordinator_shell_config& to) {
  if (to.on_evaluation && known.steps.tally().test &&
      std::holds_alternative<evaluation_report>(told))
    to.on_evaluation(*known.steps.tally().test, known.spec.set.classes > 0);
}

} // namespace

// -- messages in --------------------------------------------------------------

coordinator_shell::behavior_type coordinator_shell::make_behavior() {
  delayed_send(this, tick_every, coordinator_tick{});
  auto name_of_run =
      [this](const failure& refused) -> caf::result<std::string> {
    if (refused)
      return to_error(refused);
    return record().name();
  };
  return {
      // From workers, in other processes.
      [this](hello_atom, const worker_hello& who,
             const gpu_worker_actor& handle) { return hello(who, handle); },
      [this](const heartbeat& m) { on(core(), m, now()); },
      [this](const worker_report& m) {
        tell_core(m);
        show_evaluation(m, core().run, config_);
      },
      [this](const fragment_ready& m) { send(state_->shards, m); },
      [this](drain_atom, worker_id who) {
        tell_core(coordinator::leave_announced{who});
      },
      // From this process.
      [this, name_of_run](const submit_job& order) {
        return name_of_run(submit(order));
      },
      [this, name_of_run](const resume_run& order) {
        return name_of_run(resume_past(order));
      },
      [this](const control_request& request) { return control(request); },
      [this](const status_query&) {
        return status_shown{monitor::status_json(status())};
      },
      [this](const process_exited& m) {
        tell_core(coordinator::process_ended{m.name, m.how});
      },
      [this](const stop_signal&) {
        (void)ask(core(), coordinator::stop_run{true}, now());
        perform_decided();
      },
      [this](const checkpoint_saved& m) {
        tell_core(coordinator::checkpoint_written{m.after, m.file, m.problem});
      },
      [this](const saved_model& m) { model_saved(m); },
      [this](const run_trouble& m) {
        tell_core(coordinator::outside_trouble{m.why});
      },
      [this](const report_written& m) { ended(m); },
      [this](const coordinator_tick&) { on_tick(); },
  };
}

/// Its threads are waited for; what they still say meets nobody.
void coordinator_shell::on_exit() {
  queue_.clear();               // promises in it hold this actor
  if (state_ && state_->record) // what a thread may wait for
    state_->record->checkpoints().copies().stop();
  state_.reset();
}

caf::result<welcome> coordinator_shell::hello(const worker_hello& who,
                                              const gpu_worker_actor& handle) {
  const auto answer = greet(core(), who, now());
  if (const auto* refused = std::get_if<failure>(&answer))
    return to_error(*refused);
  const welcome& accepted = std::get<welcome>(answer);
  state_->handles[accepted.worker] = handle;
  monitor(handle);
  monitor::log().info("node {} joined from {} (pid {})", who.name, who.host,
                      who.pid);
  // Until a run begins its cores have nothing else to do.
  if (!who.leaving &&
      coordinator::reads_fragments(who.boot_id, config_.boot_id,
                                   config_.prepare_on_this_machine))
    send(state_->shards, fragment_helper{accepted.worker, who.name, handle});
  // Before what follows: it may be excluded once more.
  if (config_.on_joined)
    config_.on_joined(who.name);
  perform_decided();
  return accepted;
}

void coordinator_shell::down(const caf::down_msg& message) {
  auto& handles = state_->handles;
  for (auto it = handles.begin(); it != handles.end(); ++it)
    if (it->second.address() == message.source) {
      worker_id who = it->first;
      handles.erase(it);
      send(state_->shards, fragment_helper{who});
      tell_core(coordinator::connection_lost{who, losses::connection_closed{}});
      return;
    }
}

void coordinator_shell::on_tick() {
  if (int injected = fault_point("coordinator.tick"))
    throw std::system_error(injected, std::generic_category(), "a tick");
  status_.reset();
  queue_.retry();
  prepare_again();
  if (memory_is_gone(*state_))
    tell_core(coordinator::memory_gone{});
  if (!queue_.waiting())
    tell_core(coordinator::clock_tick{});
  if (core().members.active())
    queue_.add(notice_.note(core().nodes, clock_now()));
  else
    notice_.clear();
  if (const std::string text = disk_trouble();
      notice_.is_due(text, clock_now())) {
    monitor::log().warn("{}", text);
    if (config_.on_trouble)
      config_.on_trouble(text);
  }
  const bool due =
      summaries_due(core(), ++ticks_) && !stands_still(core(), now());
  if (due && workers_stale_ && !queue_.waiting())
    queue_.add(queued_work{[this] { write_stale_workers(); }});
  if (due && state_->record) {
    state_->record->probe()->status(status());
    state_->record->notices().history()->status(status());
  }
  if (config_.on_tick && core().members.active())
    config_.on_tick(status());
  delayed_send(this, tick_every, coordinator_tick{});
}

const coordinator::run_status& coordinator_shell::status() {
  if (status_)
    return *status_;
  coordinator::run_status out = status_of(core(), now());
  out.now = clock_now(); // as in events.jsonl
  out.disk_trouble = disk_trouble();
  if (state_->record)
    out.copied = state_->record->checkpoints().copies().status();
  if (core().members.phase() == coordinator::run_phase::preparing)
    out.preparing = preparing_.at(out.now);
  const bool active = core().members.active();
  if (state_->ending || (!queue_.empty() && !active)) {
    out.state = coordinator::run_phase::finishing;
  } else if (!active && how_it_ended_) {
    out.state = how_it_ended_->first;
    out.ended = how_it_ended_->second;
  }
  return status_.emplace(std::move(out));
}

std::string coordinator_shell::disk_trouble() {
  for (std::string text : {queue_.sentence(), prepare_wait_.sentence(),
                           state_->background.sentence()})
    if (!text.empty())
      return text;
  return notice_.sentence(patience());
}

// -- actions out --------------------------------------------------------------

/// One overload for each type of action; one that lacks does not compile.
struct coordinator_shell::action_handler {
  /// For the disk.
  template <class Recorded>
  requires requires(run_record& on, const Recorded& what) { on.perform(what); }
  void operator()(const Recorded& what) { me->record().perform(what); }
  void operator()(const coordinator::write_steps& action) {
    me->record().perform(action);
    if (me->config_.on_steps)
      me->config_.on_steps(action.steps, me->core().run.spec,
                           me->core().run.steps.tally());
  }
  /// For a worker, as it is.
  template <class Order>
  requires requires(const Order& one) {
    one.to;
    one.what;
  }
  void operator()(const Order& action) { order(action.to, action.what); }
  void operator()(const coordinator::send_assignment& action) {
    assignment copy = action.what;
    copy.run_folder = me->record().folder().string();
    order(action.to, copy);
  }
  void operator()(const coordinator::expel& what);

  // For the shard manager.
  void operator()(const coordinator::prepare_data& what);
  void operator()(const balance::place_shares& what);
  void operator()(const coordinator::observe_load& what);
  void operator()(const coordinator::apply_balance& action) {
    me->send(me->state_->shards,
             set_balance{action.what.enabled, action.what.skew_tv});
  }
  void operator()(const coordinator::serve_checkpoint& what) {
    me->send(me->state_->shards, serve_file{what.file});
  }

  // For the background.
  void operator()(const coordinator::fetch_model& what) {
    me->state_->background.save_model(work(), what, names_of(what.from));
  }
  void operator()(const coordinator::publish_model& what) {
    me->state_->background.save_model(work(), what);
  }
  void operator()(const coordinator::fetch_checkpoint& what);
  void operator()(const coordinator::open_memory& what) {
    const failure none =
        me->record().checkpoints().open_memory(what.state_bytes);
    me->queue_.add(queued_work{
        [me = me, none] { me->tell_core(coordinator::memory_opened{none}); }});
  }

  void operator()(const coordinator::start_worker& what) {
    monitor::log().info("starts worker {}", what.name);
    if (me->config_.on_start_worker)
      me->config_.on_start_worker(what.name);
  }
  void operator()(const coordinator::write_event& what);
  void operator()(const coordinator::write_workers&);
  void operator()(const coordinator::give_up& what);
  void operator()(const coordinator::end_run& what) { me->end(what); }

  template <class Message>
  void order(worker_id to, const Message& what) {
    auto found = me->state_->handles.find(to);
    if (found != me->state_->handles.end())
      me->send(found->second, what);
  }
  std::vector<std::string>
  names_of(const std::vector<coordinator::state_holder>& who) const {
    std::vector<std::string> out;
    for (const coordinator::state_holder& one : who)
      out.push_back(me->core().nodes.name_of(one.who));
    return out;
  }
  run_work work() { return {me, me->state_->record, me->patience()}; }

  coordinator_shell* me;
};

/// Its messages count no more. If it ever wakes up it is told to drop what it
/// has; whoever started it may end it before.
void coordinator_shell::action_handler::operator()(
    const coordinator::expel& what) {
  me->state_->background.lose(what.who);
  auto& handles = me->state_->handles;
  auto found = handles.find(what.who);
  if (me->config_.on_expelled)
    me->config_.on_expelled(me->core().nodes.name_of(what.who));
  if (found == handles.end())
    return;
  me->send(me->state_->shards, fragment_helper{what.who});
  bool for_good = !what.dismissed.empty();
  me->send(found->second,
           command{me->core().config.term, generation{},
                   for_good ? command_kind::dismiss : command_kind::expel,
                   for_good              ? what.dismissed
                   : what.reason.empty() ? "excluded: it did not answer in time"
                                         : what.reason});
  me->demonitor(found->second.address());
  handles.erase(found);
}

void coordinator_shell::action_handler::operator()(
    const coordinator::prepare_data& action) {
  me->request(me->state_->shards, preparing_deadline,
              prepare_set{action.what, me->record().token(),
                          me->preparing_.begin(), me->core().config.term,
                          kept_weights(me->record().folder())})
      .then(
          [me = me, run = me->state_->runs](const set_prepared& made) {
            if (run == me->state_->runs)
              me->queue_.add(queued_work{[me, made] { me->prepared(made); }});
          },
          [me = me, action, run = me->state_->runs](const caf::error& why) {
            if (run == me->state_->runs)
              me->not_prepared(action, why);
          });
}

/// Answers of the shard manager that come when their run is over say nothing.
void coordinator_shell::action_handler::operator()(
    const balance::place_shares& what) {
  me->request(me->state_->shards, planning_deadline, what)
      .then(
          [me = me, of = what.generation,
           run = me->state_->runs](const placed_shares& placed) {
            if (run != me->state_->runs)
              return;
            if (placed.lacks)
              me->tell_core(coordinator::no_room_found{of, placed.lacks});
            else
              me->tell_core(
                  coordinator::shares_placed{placed.what, placed.shares});
          },
          [me = me, run = me->state_->runs](const caf::error& why) {
            if (run == me->state_->runs)
              me->tell_core(coordinator::outside_trouble{to_failure(why)});
          });
}

void coordinator_shell::action_handler::operator()(
    const coordinator::observe_load& action) {
  me->request(me->state_->shards, planning_deadline, action.what)
      .then(
          [me = me,
           run = me->state_->runs](const balance::balance_answer& answer) {
            if (run == me->state_->runs)
              me->tell_core(answer);
          },
          [me = me, run = me->state_->runs](const caf::error& why) {
            if (run != me->state_->runs)
              return;
            monitor::log().warn("no balance: {}", to_failure(why).message);
            me->tell_core(balance::balance_answer{});
          });
}

void coordinator_shell::action_handler::operator()(
    const coordinator::fetch_checkpoint& what) {
  run_work of = work();
  // The last one is what the run goes on from; without another one training
  // does as well.
  const coordinator::coordinator_parts& core = me->core();
  const bool last = core.members.phase() == coordinator::run_phase::finishing ||
                    core.run.requests.stops();
  if (!last || what.in_memory)
    of.patience = 0s;
  me->state_->background.save_checkpoint(of, what, names_of(what.from));
}

/// What a user should see though the run goes on.
void coordinator_shell::action_handler::operator()(
    const coordinator::write_event& action) {
  const auto* unopened =
      std::get_if<coordinator::events::cannot_open>(&action.what);
  if (unopened && me->config_.on_trouble)
    me->config_.on_trouble(unopened->message + "; it is tried again, " +
                           std::to_string(unopened->attempts) +
                           " attempts failed so far");
  // Who reads that a generation goes on finds its workers in the file.
  if (std::holds_alternative<coordinator::events::generation_begun>(
          action.what))
    me->write_stale_workers();
  me->record().perform(action);
  me->status_.reset(); // shows no less than the events do
}

/// A new file takes milliseconds, of hundreds of workers or on a busy disk: not
/// on the way of a change of the membership, and once for all that changes
/// meanwhile; at the latest when the generation is told.
void coordinator_shell::action_handler::operator()(
    const coordinator::write_workers&) {
  me->workers_stale_ =
      many_workers(me->core()) || stands_still(me->core(), me->now());
  if (!me->workers_stale_)
    me->record().workers(
        monitor::workers_json(status_of(me->core(), me->now())));
}

/// As a message, so that what was decided beside it is done first.
void coordinator_shell::action_handler::operator()(
    const coordinator::give_up& what) {
  failure why = what.why;
  if (!what.rows.empty())
    why.message += ": " + me->record().set().describe(what.rows) +
                   "; take them out of the data, or mend what they break";
  me->send(me, run_trouble{why});
}

coordinator_shell::coordinator_shell(caf::actor_config& actor,
                                     shard_manager_actor shards,
                                     coordinator_shell_config config)
    : local_coordinator_actor::base(actor), config_(std::move(config)),
      queue_({[this](const coordinator::action& one) {
                std::visit(
                    [this](const auto& what) { action_handler{this}(what); },
                    one);
              },
              [this](const failure& why) { give_up_queue(why); },
              [this] { return patience(); }, [this] { return clock_now(); }}) {
  config_.core.tick = tick_every;
  state_.emplace(config_.core);
  state_->shards = std::move(shards);
  on_handler_exception(this, "coordinator", config_.on_defect);
  set_down_handler([this](const caf::down_msg& m) { down(m); });
}

} // namespace ballast::actors
