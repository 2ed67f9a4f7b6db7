#include "actors/coordinator_shell.hpp"

#include "runtime/control.hpp"

#include <algorithm>
#include <set>

namespace ballast {

void coordinator_shell::perform(const prepare_data& what) {
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

void coordinator_shell::perform(const place_shares& what) {
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

void coordinator_shell::perform(const observe_load& what) {
  self_
      ->request(self_->state.shards, caf::infinite, balance_atom::value,
                what.what)
      .then(
          [this](const balance_answer& answer) {
            perform(core().on_balance(answer, now()));
          },
          [this](const caf::error& why) {
            log().warn("no balance: {}", to_failure(why).message);
            perform(core().on_balance({}, now()));
          });
}

/// Its messages count no more. If it ever wakes up it is told to drop what it
/// has; whoever started it may end it before.
void coordinator_shell::perform(const expel& what) {
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

/// As a message, so that what was decided beside it is done first.
void coordinator_shell::perform(const give_up& what) {
  failure why = what.why;
  if (!what.rows.empty())
    why.message += ": " + record().describe(what.rows) +
                   "; take them out of the data, or mend what they break";
  caf::anon_send(coordinator_actor(self_), trouble_atom::value, why);
}

void coordinator_shell::ended(int exit_code, const std::string& report) {
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

/// One run at a time, its end included.
failure coordinator_shell::busy() {
  if (!self_->state.ending && !core().active())
    return {};
  return {errc::busy,
          "this coordinator is busy with run " + record().name() +
              ": it does one job at a time",
          {}};
}

caf::result<std::string> coordinator_shell::submit(const std::string& text,
                                                   const std::string& folder) {
  auto& state = self_->state;
  job_result parsed = parse_job(text, {}, "/");
  if (!parsed.value)
    return to_error(parsed.mistakes.at(0));
  if (failure refused = busy())
    return to_error(refused);
  try {
    auto fresh =
        std::make_shared<run_record>(*parsed.value, folder, config_.runs_folder,
                                     config_.core.token, *config_.addresses);
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

caf::result<std::string> coordinator_shell::resume(const std::string& text) {
  auto& state = self_->state;
  nlohmann::json asked = nlohmann::json::parse(text);
  if (failure refused = busy())
    return to_error(refused);
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
  past.asked_again = asked.value("again", false);
  record().go_on();
  if (config_.on_run_opened)
    config_.on_run_opened(record());
  auto result =
      core().on_resume(std::move(past), record().term(), record().token());
  perform(result.then);
  return record().name();
}

void coordinator_shell::down(const caf::down_msg& message) {
  auto& handles = self_->state.handles;
  for (auto it = handles.begin(); it != handles.end(); ++it)
    if (it->second.address() == message.source) {
      worker_id who = it->first;
      handles.erase(it);
      perform(core().on_node_down(who, "its connection closed", now()));
      return;
    }
}

/// What only the shard manager can answer.
caf::result<int, std::string>
coordinator_shell::ask_shards(const std::string& id, const std::string& text) {
  auto promise = self_->make_response_promise<int, std::string>();
  self_->request(self_->state.shards, caf::infinite, control_atom::value, text)
      .then(
          [promise, id](const std::string& answer) mutable {
            promise.deliver(200,
                            make_reply_ok(id, nlohmann::json::parse(answer)));
          },
          [promise, id](const caf::error& why) mutable {
            failure refused = to_failure(why);
            promise.deliver(http_status(refused),
                            make_reply_error(id, refused));
          });
  return promise;
}

caf::result<int, std::string>
coordinator_shell::control(const std::string& text) {
  control_result parsed = parse_control(text);
  if (!parsed.value)
    return {http_status(parsed.refused),
            make_reply_error(parsed.id, parsed.refused)};
  if (std::holds_alternative<plan_request>(parsed.value->what) ||
      std::holds_alternative<explain_request>(parsed.value->what))
    return ask_shards(parsed.id, text);
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
  } else if (const auto* how = std::get_if<balance_request>(&what)) {
    reply = core().set_balance(how->enabled, how->skew_tv);
    if (!reply.refused) {
      const run& of = *core().current();
      balance_spec now = of.asked.balance_of(of.what);
      extra = {{"enabled", now.enabled}, {"skew_tv", now.skew_tv}};
    }
  } else if (const auto* drain = std::get_if<drain_request>(&what)) {
    reply = core().drain(drain->worker);
  } else if (const auto* evict = std::get_if<evict_request>(&what)) {
    reply = core().evict(evict->worker, now());
  } else if (const auto* kill = std::get_if<kill_request>(&what)) {
    reply = core().hurt(kill->worker, command_kind::kill, 0);
  } else if (const auto* slow = std::get_if<slow_request>(&what)) {
    reply = core().hurt(slow->worker, command_kind::slow, slow->factor);
  } else if (const auto* damage = std::get_if<damage_request>(&what)) {
    reply = core().hurt(damage->worker, command_kind::damage,
                        double(damage->chunks));
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

} // namespace ballast
