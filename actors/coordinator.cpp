#include "actors/coordinator.hpp"

#include "actors/past_run_reader.hpp"
#include "actors/types.hpp"
#include "data/chunk_service.hpp"
#include "monitor/log.hpp"
#include "runtime/control.hpp"

#include <chrono>
#include <nlohmann/json.hpp>

namespace ballast {

namespace {

using namespace std::chrono_literals;
using pointer = coordinator_actor::stateful_pointer<coordinator_state>;

constexpr auto tick_every = 50ms;
constexpr auto model_deadline = 60s;

/// One object per coordinator: the place where decisions become messages.
class shell {
public:
  shell(pointer self, coordinator_shell_config config)
      : self_(self), config_(std::move(config)) {}

  instant now() const { return self_->clock().now().time_since_epoch(); }
  coordinator_core& core() { return *self_->state.core; }
  const coordinator_shell_config& config() const { return config_; }

  /// Performs what the core decided, in order. A disk that fails ends the run;
  /// of a run that ends already, all that still can be done is done.
  void perform(const actions& list) {
    for (const action& one : list)
      try {
        std::visit([this](const auto& what) { perform(what); }, one);
      } catch (const ballast_error& e) {
        log().error("{}", e.what());
        if (!core().active())
          continue;
        caf::anon_send(coordinator_actor(self_), trouble_atom::value,
                       e.what_failed());
        return;
      }
  }

  /// What is shown outside: a run has ended once its report is written.
  nlohmann::json status() {
    nlohmann::json out = status_json(core(), now());
    if (self_->state.ending)
      out["state"] = to_string(run_phase::finishing);
    return out;
  }

  caf::result<std::string> submit(const std::string& text,
                                  const std::string& folder);
  caf::result<std::string> resume(const std::string& text);
  void down(const caf::down_msg& message);
  std::pair<int, std::string> control(const std::string& text);
  void ended(int exit_code, const std::string& report);

private:
  run_record& record() { return *self_->state.record; }

  void perform(const prepare_data& what);
  void perform(const place_shares& what);
  void perform(const send_assignment& what) {
    assignment copy = what.what;
    copy.run_folder = record().folder().string();
    send(what.to, copy);
  }
  void perform(const send_connect& what) { send(what.to, what.what); }
  void perform(const send_command& what) { send(what.to, what.what); }
  void perform(const send_plan& what) { send(what.to, what.what); }
  void perform(const journal_effective& what) { record().perform(what); }
  void perform(const send_fence& what) { send(what.to, what.what); }
  void perform(const expel& what);
  void perform(const start_worker& what) {
    log().info("starts worker {}", what.name);
    if (config_.on_start_worker)
      config_.on_start_worker(what.name);
  }
  void perform(const journal_change& what) { record().perform(what); }
  void perform(const journal_commit& what) { record().perform(what); }
  void perform(const write_steps& what) { record().perform(what); }
  void perform(const write_event& what) {
    if (what.kind == "error")
      log().error("{}", what.fields.value("message", ""));
    else
      log().info("{} {}", what.kind, what.fields.dump());
    record().perform(what);
  }
  void perform(const write_workers&) { record().workers(workers_json(core())); }
  void perform(const fetch_model& what);
  void perform(const fetch_checkpoint& what);
  void perform(const serve_checkpoint& what) {
    self_->send(self_->state.shards, serve_atom::value, what.file);
  }
  void perform(const undo_steps& what) {
    log().warn("goes back to step {}: {}", value(what.to), what.reason);
    record().perform(what);
  }
  void perform(const end_run& what);

  template <class Message>
  void send(worker_id to, const Message& what) {
    auto found = self_->state.handles.find(to);
    if (found != self_->state.handles.end())
      self_->send(found->second, what);
  }

  template <class Work>
  void in_background(Work work) {
    if (self_->state.helper.joinable())
      self_->state.helper.join();
    self_->state.helper = std::thread(std::move(work));
  }

  pointer self_;
  coordinator_shell_config config_;
  std::string outcome_reason_;
  /// Why the report could not be written; the helper's until it is joined.
  std::shared_ptr<std::string> no_report_ = std::make_shared<std::string>();
};

void shell::perform(const prepare_data& what) {
  // The first read of a big data set may take minutes; the shard manager
  // watches its own deadlines.
  self_
      ->request(self_->state.shards, caf::infinite, prepare_atom::value,
                to_json(what.what).dump(), record().token())
      .then(
          [this](const set_summary& set) {
            self_
                ->request(self_->state.shards, caf::infinite,
                          status_atom::value)
                .then([this, set](const std::string& manifest) {
                  // The run may have ended while its data were read.
                  if (core().phase() != run_phase::preparing)
                    return;
                  try {
                    record().prepared(core().current()->what, set, manifest);
                    perform(core().on_prepared(set, now()));
                  } catch (const ballast_error& e) {
                    perform(core().on_prepare_failed(e.what_failed()));
                  }
                });
          },
          [this](const caf::error& why) {
            perform(core().on_prepare_failed(to_failure(why)));
          });
}

void shell::perform(const place_shares& what) {
  self_
      ->request(self_->state.shards, caf::infinite, place_atom::value,
                what.generation, what.number, what.workers, what.before)
      .then(
          [this](const plan& placed, const std::vector<share_summary>& shares) {
            perform(core().on_placed(placed, shares, now()));
          },
          [this](const caf::error& why) {
            perform(core().on_trouble(to_failure(why)));
          });
}

/// Its messages count no more. If it ever wakes up it is told to drop what it
/// has; whoever started it may end it before.
void shell::perform(const expel& what) {
  auto found = self_->state.handles.find(what.who);
  if (config_.on_expelled)
    config_.on_expelled(core().name_of(what.who));
  if (found == self_->state.handles.end())
    return;
  self_->send(found->second,
              command{core().config().term, generation{}, command_kind::expel,
                      "excluded: it did not answer in time"});
  self_->demonitor(found->second.address());
  self_->state.handles.erase(found);
}

void shell::perform(const fetch_model& what) {
  coordinator_actor me = self_;
  in_background(
      [me, what, record = self_->state.record, token = record().token()] {
        failure problem;
        try {
          auto client = chunk_client::connect(what.address, token, 5s);
          record->model(client->fetch_blob("model", model_deadline),
                        what.weights_sha256);
        } catch (const ballast_error& e) {
          problem = e.what_failed();
        }
        caf::anon_send(me, saved_atom::value, problem);
      });
}

/// Beside everything else: fetching and the disk take their time.
void shell::perform(const fetch_checkpoint& what) {
  coordinator_actor me = self_;
  if (self_->state.copier.joinable())
    self_->state.copier.join(); // it has reported, so it is at its end
  self_->state.copier = std::thread(
      [me, what, record = self_->state.record, token = record().token()] {
        failure problem;
        std::string file;
        try {
          auto client = chunk_client::connect(what.address, token, 5s);
          file = record->checkpoint(
              what.after,
              client->fetch_blob("checkpoint-" + to_string(what.after.step),
                                 model_deadline),
              what.keep);
        } catch (const ballast_error& e) {
          problem = e.what_failed();
          log().warn("no checkpoint of step {}: {}", value(what.after.step),
                     e.what());
        }
        caf::anon_send(me, saved_atom::value, what.after, file, problem);
      });
}

run_report make_report(const run& of, const end_run& how) {
  run_report out;
  out.state = how.state;
  out.epochs = of.what.train.epochs;
  out.steps = value(of.last.step);
  out.samples = of.samples;
  out.reason = how.reason;
  for (const auto& [reason, ms] : of.recoveries)
    out.recoveries.push_back({reason, ms});
  if (of.samples > 0) {
    out.samples_per_s = double(of.samples_per_s());
    out.train_loss = of.train_loss;
  }
  if (of.test)
    out.test_loss = of.test->loss;
  if (of.test && of.set.classes > 0)
    out.test_accuracy = of.test->accuracy;
  out.generations = of.members ? value(of.members->number) : 0;
  for (const auto& [reason, ms] : of.recoveries)
    out.recoveries.push_back({reason, ms});
  out.moved_samples = 0;
  out.moved_bytes = 0;
  out.moved_bound_samples = 0;
  if (of.members && !of.members->shares.empty()) {
    double skew = 0;
    for (const share_summary& one : of.members->shares)
      skew = std::max(skew, one.skew_tv);
    out.skew_tv_start = skew;
    out.skew_tv_max = skew;
  }
  if (!of.weights_sha256.empty())
    out.weights_sha256 = of.weights_sha256;
  return out;
}

void shell::perform(const end_run& what) {
  self_->state.ending = true;
  outcome_reason_ = what.reason;
  record().probe()->state(what.state);
  coordinator_actor me = self_;
  bool nothing_happened = what.exit_code == 2 && core().current()->samples == 0;
  no_report_->clear();
  in_background([me, what, nothing_happened, record = self_->state.record,
                 problem = no_report_,
                 report = make_report(*core().current(), what)] {
    std::string text;
    int exit_code = what.exit_code;
    try {
      if (nothing_happened)
        record->discard();
      else {
        nlohmann::ordered_json written = record->finish(report);
        text = written.dump();
        if (written["state"] != what.state) {
          exit_code = 1;
          *problem = written.value("reason", "");
        }
      }
    } catch (const std::exception& e) {
      log().error("writing the report: {}", e.what());
      // A run without a report is no success.
      if (what.state != to_string(run_phase::failed)) {
        exit_code = 1;
        *problem = e.what();
      }
    }
    caf::anon_send(me, ended_atom::value, exit_code, text);
  });
}

void shell::ended(int exit_code, const std::string& report) {
  auto& state = self_->state;
  if (state.helper.joinable())
    state.helper.join();
  state.ending = false;
  self_->send(state.shards, drop_atom::value);
  run_outcome out;
  out.name = record().name();
  out.folder = report.empty() ? "" : record().folder().string();
  out.exit_code = exit_code;
  out.reason = no_report_->empty() ? outcome_reason_ : *no_report_;
  out.report = report;
  if (config_.on_run_ended)
    config_.on_run_ended(out);
}

caf::result<std::string> shell::submit(const std::string& text,
                                       const std::string& folder) {
  auto& state = self_->state;
  job_result parsed = parse_job(text, {}, "/");
  if (!parsed.value)
    return to_error(parsed.mistakes.at(0));
  if (state.ending || core().active())
    return to_error({errc::busy,
                     "this coordinator is busy with run " + record().name() +
                         ": it does one job at a time",
                     {}});
  try {
    auto fresh = std::make_shared<run_record>(
        *parsed.value, folder, config_.runs_folder, config_.core.token,
        *config_.addresses);
    state.record = fresh;
    config_.records->set(fresh);
  } catch (const ballast_error& e) {
    return to_error(e.what_failed());
  }
  if (config_.on_run_opened)
    config_.on_run_opened(record());
  auto result =
      core().on_submit(*parsed.value, record().name(), record().term());
  perform(result.then);
  return record().name();
}

caf::result<std::string> shell::resume(const std::string& text) {
  auto& state = self_->state;
  nlohmann::json asked = nlohmann::json::parse(text);
  if (state.ending || core().active())
    return to_error({errc::busy,
                     "this coordinator is busy with run " + record().name() +
                         ": it does one job at a time",
                     {}});
  past_run past;
  try {
    auto taken = std::make_shared<run_record>(
        std::filesystem::path(asked.at("folder").get<std::string>()),
        *config_.addresses);
    past = taken->past();
    state.record = taken;
    config_.records->set(taken);
  } catch (const ballast_error& e) {
    return to_error(e.what_failed());
  }
  if (asked.contains("job") && asked["job"].is_object()) {
    job_result parsed = parse_job(asked["job"].dump(), {}, "/");
    if (!parsed.value)
      return to_error(parsed.mistakes.at(0));
    if (std::string why = cannot_go_on(past.begun, *parsed.value); !why.empty())
      return to_error({errc::invalid_job, why, {}});
    past.what = *parsed.value;
  }
  if (asked.contains("alive") && asked["alive"].is_array())
    past.alive = asked["alive"].get<std::set<std::string>>();
  if (config_.on_run_opened)
    config_.on_run_opened(record());
  auto result = core().on_resume(std::move(past), record().term(),
                                 record().token());
  perform(result.then);
  return record().name();
}

void shell::down(const caf::down_msg& message) {
  auto& handles = self_->state.handles;
  for (auto it = handles.begin(); it != handles.end(); ++it)
    if (it->second.address() == message.source) {
      worker_id who = it->first;
      handles.erase(it);
      perform(core().on_node_down(who, "its connection closed", now()));
      return;
    }
}

std::pair<int, std::string> shell::control(const std::string& text) {
  control_result parsed = parse_control(text);
  if (!parsed.value)
    return {http_status(parsed.refused),
            make_reply_error(parsed.id, parsed.refused)};
  coordinator_core::reply reply;
  nlohmann::json extra = nlohmann::json::object();
  const control_request& what = parsed.value->what;
  if (const auto* job = std::get_if<submit_request>(&what)) {
    caf::result<std::string> got = submit(job->job.dump(), "");
    if (got.flag == caf::rt_error) {
      reply.refused = to_failure(got.err);
    } else {
      extra["run"] = record().name();
      extra["run_dir"] = record().folder().string();
    }
  } else if (std::holds_alternative<status_request>(what)) {
    extra["status"] = status();
  } else if (std::holds_alternative<pause_request>(what)) {
    reply = core().pause();
  } else if (std::holds_alternative<checkpoint_request>(what)) {
    reply = core().checkpoint();
  } else if (std::holds_alternative<resume_request>(what)) {
    reply = core().resume();
  } else if (const auto* scale = std::get_if<scale_request>(&what)) {
    reply = core().scale(scale->workers);
  } else if (const auto* drain = std::get_if<drain_request>(&what)) {
    reply = core().drain(drain->worker);
  } else if (const auto* evict = std::get_if<evict_request>(&what)) {
    reply = core().evict(evict->worker, now());
  } else if (const auto* kill = std::get_if<kill_request>(&what)) {
    reply = core().hurt(kill->worker, command_kind::kill, 0);
  } else if (const auto* stall = std::get_if<stall_request>(&what)) {
    reply = core().hurt(stall->worker, command_kind::stall, stall->seconds);
  } else {
    reply = core().stop(false);
  }
  if (reply.refused)
    return {http_status(reply.refused),
            make_reply_error(parsed.id, reply.refused)};
  perform(reply.then);
  return {200, make_reply_ok(parsed.id, extra)};
}

/// Gauges that follow from the state, not from events.
void refresh_probe(const coordinator_core& core, run_record& record,
                   instant now) {
  coordinator_probe& probe = *record.probe();
  probe.state(to_string(core.phase()));
  nlohmann::json status = status_json(core, now);
  for (const auto& one : status["workers"]) {
    if (one["rank"].is_null() || !one.contains("rows_owned"))
      continue;
    std::string name = one["name"];
    if (one["state"] == "lost") {
      probe.worker_gone(name);
      continue;
    }
    probe.worker_report(name, one["samples_per_s"], one["batch"],
                        one["rows_owned"], one["skew_tv"]);
    probe.heartbeat_age(name, one["heartbeat_age_s"]);
  }
}

} // namespace

coordinator_actor::behavior_type coordinator(pointer self,
                                             shard_manager_actor shards,
                                             coordinator_shell_config config) {
  self->state.core = std::make_unique<coordinator_core>(config.core);
  self->state.shards = std::move(shards);
  auto me = std::make_shared<shell>(self, std::move(config));
  self->set_down_handler([me](const caf::down_msg& m) { me->down(m); });
  self->delayed_send(self, tick_every, tick_atom::value);
  return {
      [=](hello_atom, const worker_hello& hello,
          const gpu_worker_actor& handle) -> caf::result<welcome> {
        auto result = me->core().on_hello(hello, me->now());
        if (!result.accepted)
          return to_error(result.refused);
        self->state.handles[result.accepted->worker] = handle;
        self->monitor(handle);
        log().info("node {} joined from {} (pid {})", hello.name, hello.host,
                   hello.pid);
        me->perform(result.then);
        return *result.accepted;
      },
      [=](const heartbeat& m) { me->core().on_heartbeat(m, me->now()); },
      [=](const worker_loaded& m) {
        me->perform(me->core().on_loaded(m, me->now()));
      },
      [=](const worker_ready& m) {
        me->perform(me->core().on_ready(m, me->now()));
      },
      [=](const final_ack& m) { me->perform(me->core().on_ack(m, me->now())); },
      [=](const progress_report& m) {
        me->perform(me->core().on_progress(m, me->now()));
      },
      [=](const evaluation_report& m) {
        me->perform(me->core().on_evaluated(m));
      },
      [=](const worker_paused& m) { me->perform(me->core().on_paused(m)); },
      [=](const worker_finished& m) { me->perform(me->core().on_finished(m)); },
      [=](const worker_failed& m) {
        me->perform(me->core().on_failed(m, me->now()));
      },
      [=](submit_atom, const std::string& job, const std::string& folder) {
        return me->submit(job, folder);
      },
      [=](control_atom,
          const std::string& text) -> caf::result<int, std::string> {
        auto [status, body] = me->control(text);
        return {status, body};
      },
      [=](status_atom) { return me->status().dump(); },
      [=](exited_atom, const std::string& name, const std::string& how) {
        me->perform(me->core().on_process_ended(name, how, me->now()));
      },
      [=](signal_atom) { me->perform(me->core().stop(true).then); },
      [=](drain_atom, worker_id who) {
        me->perform(me->core().drain(me->core().name_of(who)).then);
      },
      [=](resume_atom, const std::string& text) { return me->resume(text); },
      [=](const state_copied& m) { me->perform(me->core().on_copied(m)); },
      [=](saved_atom, const position& after, const std::string& file,
          const failure& problem) {
        me->perform(me->core().on_checkpoint(after, file, problem, me->now()));
      },
      [=](saved_atom, const failure& problem) {
        me->perform(me->core().on_model_saved(problem));
      },
      [=](trouble_atom, const failure& why) {
        me->perform(me->core().on_trouble(why));
      },
      [=](ended_atom, int exit_code, const std::string& report) {
        me->ended(exit_code, report);
      },
      [=](tick_atom) {
        me->perform(me->core().on_tick(me->now()));
        if (self->state.record)
          refresh_probe(me->core(), *self->state.record, me->now());
        if (me->config().on_tick)
          me->config().on_tick(me->core());
        self->delayed_send(self, tick_every, tick_atom::value);
      },
  };
}

} // namespace ballast
