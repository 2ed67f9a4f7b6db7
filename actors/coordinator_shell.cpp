/// Runs: how one begins, goes on from an earlier coordinator, and ends; and
/// what is asked of shard manager and workers meanwhile.
#include "actors/coordinator_shell.hpp"

#include "actors/resume_check.hpp"
#include "runtime/base/printable.hpp"

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

/// Answers of the shard manager that come when their run is over say nothing.
void coordinator_shell::perform_now(const place_shares& what) {
  request(state_->shards, planning_deadline, what)
      .then(
          [this, of = what.generation,
           run = state_->runs](const placed_shares& placed) {
            if (run != state_->runs)
              return;
            if (placed.lacks)
              tell_core(no_room_found{of, placed.lacks});
            else
              tell_core(shares_placed{placed.what, placed.shares});
          },
          [this, run = state_->runs](const caf::error& why) {
            if (run == state_->runs)
              tell_core(outside_trouble{to_failure(why)});
          });
}

void coordinator_shell::perform_now(const observe_load& what) {
  request(state_->shards, planning_deadline, what.what)
      .then(
          [this, run = state_->runs](const balance_answer& answer) {
            if (run == state_->runs)
              tell_core(answer);
          },
          [this, run = state_->runs](const caf::error& why) {
            if (run != state_->runs)
              return;
            log().warn("no balance: {}", to_failure(why).message);
            tell_core(balance_answer{});
          });
}

void coordinator_shell::perform_now(const start_worker& what) {
  log().info("starts worker {}", what.name);
  if (config_.on_start_worker)
    config_.on_start_worker(what.name);
}

/// Its messages count no more. If it ever wakes up it is told to drop what it
/// has; whoever started it may end it before.
void coordinator_shell::perform_now(const expel& what) {
  auto found = state_->handles.find(what.who);
  if (config_.on_expelled)
    config_.on_expelled(core().name_of(what.who));
  if (found == state_->handles.end())
    return;
  bool for_good = !what.dismissed.empty();
  send(found->second,
       command{core().config().term, generation{},
               for_good ? command_kind::dismiss : command_kind::expel,
               for_good              ? what.dismissed
               : what.reason.empty() ? "excluded: it did not answer in time"
                                     : what.reason});
  demonitor(found->second.address());
  state_->handles.erase(found);
}

/// As a message, so that what was decided beside it is done first.
void coordinator_shell::perform_now(const give_up& what) {
  failure why = what.why;
  if (!what.rows.empty())
    why.message += ": " + record().describe(what.rows) +
                   "; take them out of the data, or mend what they break";
  send(this, run_trouble{why});
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

void coordinator_shell::ended(const report_written& report) {
  coordinator_state& state = *state_;
  if (state.helper.joinable())
    state.helper.join();
  state.ending = false;
  send(state.shards, drop_set{});
  run_outcome out;
  out.name = record().name();
  out.folder = report.report.empty() ? "" : record().folder().string();
  out.exit_code = report.exit_code;
  out.reason = no_report_->empty() ? outcome_reason_ : *no_report_;
  out.report = report.report;
  out.discarded = record().discarded();
  out.detail = std::exchange(outcome_detail_, {});
  show_end(out);
  if (config_.on_run_ended)
    config_.on_run_ended(out);
}

/// One run at a time, its end included.
failure coordinator_shell::busy() {
  if (!state_->ending && !core().active() && queue_.empty())
    return {};
  return {errc::busy,
          "this coordinator is busy with run " + record().name() +
              ": it does one job at a time",
          {}};
}

/// From now on this is the run.
void coordinator_shell::lead(std::shared_ptr<run_record> record) {
  state_->record = record;
  ++state_->runs;
  gave_up_ = false;
  config_.records->set(std::move(record));
}

caf::result<std::string>
coordinator_shell::name_of_run(const failure& refused) {
  if (refused)
    return to_error(refused);
  return record().name();
}

failure coordinator_shell::submit(const submit_job& order) {
  if (failure refused = busy())
    return refused;
  if (failure refused = asks_too_much(order.what, config_))
    return refused;
  try {
    lead(std::make_shared<run_record>(order.what, order.folder,
                                      config_.runs_folder, config_.core.token,
                                      *config_.addresses));
  } catch (const ballast_error& e) {
    return e.what_failed();
  } catch (const std::exception& e) { // of std::filesystem, for example
    return {errc::run_dir_unusable, printable(e.what()), {}};
  }
  if (config_.on_run_opened)
    config_.on_run_opened(record(), order.what);
  (void)core().submit(order.what, record().name(), record().term());
  perform_decided();
  return {};
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
failure coordinator_shell::begin_again(const std::string& folder,
                                       const std::optional<job>& asked) {
  std::optional<job> what = asked;
  if (!what) {
    std::ifstream file(folder + "/job.json");
    std::string text(std::istreambuf_iterator<char>(file), {});
    job_result parsed = parse_job(text, {}, "/");
    if (!parsed.value)
      return {errc::run_dir_unusable,
              folder +
                  "/job.json cannot be read; give the job: "
                  "ballast run JOB.json --resume --run-dir " +
                  folder,
              {}};
    what = *parsed.value;
  }
  try {
    lead(run_record::begin_again(*what, folder, config_.core.token,
                                 *config_.addresses));
  } catch (const ballast_error& e) {
    return e.what_failed();
  }
  if (config_.on_notice)
    config_.on_notice("the run in " + folder +
                      " was killed before its first step: it begins from the "
                      "beginning");
  if (config_.on_run_opened)
    config_.on_run_opened(record(), *what);
  (void)core().submit(*what, record().name(), record().term());
  perform_decided();
  return {};
}

failure coordinator_shell::resume_past(const resume_run& order) {
  const std::string& folder = order.folder;
  const std::optional<job>& wanted = order.what;
  if (failure refused = busy())
    return refused;
  past_run past;
  try {
    // Not when a coordinator replaces one that died: that run has begun here.
    if (wanted && order.again)
      if (failure refused = asks_too_much(*wanted, config_))
        return refused;
    std::optional<journal_content> found = look_for_run(folder);
    if (!found)
      return begin_again(folder, wanted);
    if (auto why = other_build(*found->run, config_.core.build_id);
        !why.empty())
      return {errc::other_build, folder + ": " + why, {}};
    if (wanted)
      if (auto why = cannot_go_on(begun_as(*found->run), *wanted); !why.empty())
        return {errc::invalid_job, folder + ": " + why, {}};
    auto taken = std::make_shared<run_record>(std::filesystem::path(folder),
                                              *config_.addresses);
    taken->tell_by(config_.on_notice);
    past = taken->past();
    if (wanted)
      past.what = *wanted;
    lead(std::move(taken));
  } catch (const ballast_error& e) {
    return e.what_failed();
  } catch (const std::exception& e) {
    return {errc::run_dir_unusable, printable(e.what()), {}};
  }
  past.alive = order.alive;
  past.asked_again = order.again;
  if (config_.on_run_opened)
    config_.on_run_opened(record(), past.what);
  (void)core().resume(std::move(past), record().term(), record().token());
  perform_decided();
  return {};
}

void coordinator_shell::down(const caf::down_msg& message) {
  auto& handles = state_->handles;
  for (auto it = handles.begin(); it != handles.end(); ++it)
    if (it->second.address() == message.source) {
      worker_id who = it->first;
      handles.erase(it);
      tell_core(connection_lost{who, losses::connection_closed{}});
      return;
    }
}

} // namespace ballast
