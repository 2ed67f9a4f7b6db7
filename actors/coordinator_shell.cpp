#include "actors/coordinator_shell.hpp"

#include "actors/resume_check.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/messages/control.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

namespace ballast {

namespace {

/// As far as the job alone shows it.
failure asks_too_much(const job& what, const coordinator_shell_config& config) {
  return config.only_machine ? machine_problem(what, *config.only_machine)
                             : failure{};
}

} // namespace

void coordinator_shell::perform_now(const place_shares& what) {
  self_
      ->request(self_->state.shards, caf::infinite, place_atom::value,
                what.generation, what.number, what.workers, what.before,
                what.limits)
      .then(
          [this, of = what.generation](const placed_shares& placed) {
            if (placed.lacks)
              tell_core(no_room_found{of, placed.lacks});
            else
              tell_core(shares_placed{placed.what, placed.shares});
          },
          [this](const caf::error& why) {
            tell_core(outside_trouble{to_failure(why)});
          });
}

void coordinator_shell::perform_now(const observe_load& what) {
  self_
      ->request(self_->state.shards, caf::infinite, balance_atom::value,
                what.what)
      .then([this](const balance_answer& answer) { tell_core(answer); },
            [this](const caf::error& why) {
              log().warn("no balance: {}", to_failure(why).message);
              tell_core(balance_answer{});
            });
}

/// Its messages count no more. If it ever wakes up it is told to drop what it
/// has; whoever started it may end it before.
void coordinator_shell::perform_now(const expel& what) {
  auto found = self_->state.handles.find(what.who);
  if (config_.on_expelled)
    config_.on_expelled(core().name_of(what.who));
  if (found == self_->state.handles.end())
    return;
  bool for_good = !what.dismissed.empty();
  self_->send(found->second,
              command{core().config().term, generation{},
                      for_good ? command_kind::dismiss : command_kind::expel,
                      for_good ? what.dismissed
                      : what.reason.empty()
                          ? "excluded: it did not answer in time"
                          : what.reason});
  self_->demonitor(found->second.address());
  self_->state.handles.erase(found);
}

/// As a message, so that what was decided beside it is done first.
void coordinator_shell::perform_now(const give_up& what) {
  failure why = what.why;
  if (!what.rows.empty())
    why.message += ": " + record().describe(what.rows) +
                   "; take them out of the data, or mend what they break";
  caf::anon_send(coordinator_actor(self_), trouble_atom::value, why);
}

void coordinator_shell::show_end(const run_outcome& how) {
  run_phase state = core().phase();
  // Its audit may have found what nobody had; or there is no report.
  if (how.exit_code != 0 && state == run_phase::done)
    state = run_phase::failed;
  how_it_ended_ = {state, {how.exit_code, how.reason, {}}};
  if (state == run_phase::failed)
    how_it_ended_->second.error = how.reason;
  status_.reset();
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
  out.discarded = record().discarded();
  out.detail = std::exchange(outcome_detail_, {});
  show_end(out);
  if (config_.on_run_ended)
    config_.on_run_ended(out);
}

/// One run at a time, its end included.
failure coordinator_shell::busy() {
  if (!self_->state.ending && !core().active() && queue_.empty())
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
  if (failure refused = asks_too_much(*parsed.value, config_))
    return to_error(refused);
  try {
    auto fresh =
        std::make_shared<run_record>(*parsed.value, folder, config_.runs_folder,
                                     config_.core.token, *config_.addresses);
    state.record = fresh;
    gave_up_ = false;
    config_.records->set(fresh);
  } catch (const ballast_error& e) {
    return to_error(e.what_failed());
  } catch (const std::exception& e) { // of std::filesystem, for example
    return to_error({errc::run_dir_unusable, printable(e.what()), {}});
  }
  if (config_.on_run_opened)
    config_.on_run_opened(record(), *parsed.value);
  (void)core().submit(*parsed.value, record().name(), record().term());
  perform(self_->state.box.take());
  return record().name();
}

/// Of a run that was taken over nothing is changed before this is decided.
void coordinator_shell::go_on_with(const actions& decided) {
  if (core().phase() != run_phase::failed)
    try {
      record().go_on();
    } catch (const ballast_error& e) {
      tell_core(outside_trouble{e.what_failed()});
      return;
    }
  perform(decided);
}

/// Nothing was lost of a run that was killed before it began.
caf::result<std::string>
coordinator_shell::begin_again(const std::string& folder,
                               const std::optional<job>& asked) {
  auto& state = self_->state;
  std::optional<job> what = asked;
  if (!what) {
    std::ifstream file(folder + "/job.json");
    std::string text(std::istreambuf_iterator<char>(file), {});
    job_result parsed = parse_job(text, {}, "/");
    if (!parsed.value)
      return to_error({errc::run_dir_unusable,
                       folder +
                           "/job.json cannot be read; give the job: "
                           "ballast run JOB.json --resume --run-dir " +
                           folder,
                       {}});
    what = *parsed.value;
  }
  try {
    state.record = run_record::begin_again(*what, folder, config_.core.token,
                                           *config_.addresses);
  } catch (const ballast_error& e) {
    return to_error(e.what_failed());
  }
  config_.records->set(state.record);
  if (config_.on_notice)
    config_.on_notice("the run in " + folder +
                      " was killed before its first step: it begins from the "
                      "beginning");
  if (config_.on_run_opened)
    config_.on_run_opened(record(), *what);
  (void)core().submit(*what, record().name(), record().term());
  perform(self_->state.box.take());
  return record().name();
}

caf::result<std::string> coordinator_shell::resume(const std::string& text) {
  auto& state = self_->state;
  nlohmann::json asked = nlohmann::json::parse(text);
  if (failure refused = busy())
    return to_error(refused);
  std::string folder = asked.at("folder").get<std::string>();
  past_run past;
  try {
    std::optional<job> wanted;
    if (asked.contains("job") && asked["job"].is_object()) {
      job_result parsed = parse_job(json_text(asked["job"]), {}, "/");
      if (!parsed.value)
        return to_error(parsed.mistakes.at(0));
      wanted = *parsed.value;
    }
    // Not when a coordinator replaces one that died: that run has begun here.
    if (wanted && asked.value("again", false))
      if (failure refused = asks_too_much(*wanted, config_))
        return to_error(refused);
    std::optional<journal_content> found = look_for_run(folder);
    if (!found)
      return begin_again(folder, wanted);
    if (auto why = other_build(*found->run, config_.core.build_id);
        !why.empty())
      return to_error({errc::other_build, folder + ": " + why, {}});
    if (wanted)
      if (auto why = cannot_go_on(begun_as(*found->run), *wanted); !why.empty())
        return to_error({errc::invalid_job, folder + ": " + why, {}});
    auto taken = std::make_shared<run_record>(std::filesystem::path(folder),
                                              *config_.addresses);
    taken->tell_by(config_.on_notice);
    past = taken->past();
    if (wanted)
      past.what = *wanted;
    state.record = taken;
    gave_up_ = false;
    config_.records->set(taken);
  } catch (const ballast_error& e) {
    return to_error(e.what_failed());
  } catch (const std::exception& e) {
    return to_error({errc::run_dir_unusable, printable(e.what()), {}});
  }
  if (asked.contains("alive") && asked["alive"].is_array())
    past.alive = asked["alive"].get<std::set<std::string>>();
  past.asked_again = asked.value("again", false);
  if (config_.on_run_opened)
    config_.on_run_opened(record(), past.what);
  (void)core().resume(std::move(past), record().term(), record().token());
  perform(self_->state.box.take());
  return record().name();
}

void coordinator_shell::down(const caf::down_msg& message) {
  auto& handles = self_->state.handles;
  for (auto it = handles.begin(); it != handles.end(); ++it)
    if (it->second.address() == message.source) {
      worker_id who = it->first;
      handles.erase(it);
      tell_core(connection_lost{who, losses::connection_closed{}});
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
  status_.reset(); // the answer to the next look holds what is asked for
  failure refused;
  nlohmann::json extra = nlohmann::json::object();
  const control_request& what = parsed.value->what;
  if (const auto* job = std::get_if<submit_request>(&what)) {
    caf::result<std::string> got = submit(json_text(job->job), "");
    if (got.flag == caf::rt_error) {
      refused = to_failure(got.err);
    } else {
      extra["run"] = record().name();
      extra["run_dir"] = record().folder().string();
    }
  } else if (std::holds_alternative<status_request>(what)) {
    extra["status"] = status_json(status());
  } else if (std::holds_alternative<pause_request>(what)) {
    refused = core().ask(pause_request{}, now());
  } else if (std::holds_alternative<checkpoint_request>(what)) {
    refused = core().ask(checkpoint_request{}, now());
  } else if (std::holds_alternative<resume_request>(what)) {
    refused = core().ask(resume_request{}, now());
  } else if (const auto* scale = std::get_if<scale_request>(&what)) {
    refused = core().ask(*scale, now());
  } else if (const auto* how = std::get_if<balance_request>(&what)) {
    refused = core().ask(*how, now());
    if (!refused) {
      const run_state& of = core().run();
      const balance_spec is = of.requests.standing().balance_of(of.spec.job);
      extra = {{"enabled", is.enabled}, {"skew_tv", is.skew_tv}};
    }
  } else if (const auto* drain = std::get_if<drain_request>(&what)) {
    refused = core().ask(*drain, now());
  } else if (const auto* evict = std::get_if<evict_request>(&what)) {
    refused = core().ask(*evict, now());
  } else if (const auto* kill = std::get_if<kill_request>(&what)) {
    refused =
        core().ask(injected_fault{kill->worker, command_kind::kill, 0}, now());
  } else if (const auto* slow = std::get_if<slow_request>(&what)) {
    refused = core().ask(
        injected_fault{slow->worker, command_kind::slow, slow->factor}, now());
  } else if (const auto* damage = std::get_if<damage_request>(&what)) {
    refused = core().ask(injected_fault{damage->worker, command_kind::damage,
                                        double(damage->chunks)},
                         now());
  } else if (const auto* stall = std::get_if<stall_request>(&what)) {
    refused = core().ask(
        injected_fault{stall->worker, command_kind::stall, stall->seconds},
        now());
  } else {
    refused = core().ask(stop_run{false}, now());
  }
  // Between the lives of a coordinator nobody knows yet what can be meant.
  if (refused && config_.core.supervised && !self_->state.record)
    refused = {errc::unreachable,
               "the run is just being taken over: ask again in a moment",
               {}};
  if (refused)
    return {http_status(refused), make_reply_error(parsed.id, refused)};
  // Answered with ok is what is journaled.
  auto promise = self_->make_response_promise<int, std::string>();
  perform(self_->state.box.take());
  perform_later({[promise, id = parsed.id, extra]() mutable {
                   promise.deliver(200, make_reply_ok(id, extra));
                 },
                 [promise, id = parsed.id](const failure& why) mutable {
                   promise.deliver(http_status(why), make_reply_error(id, why));
                 }});
  return promise;
}

} // namespace ballast
