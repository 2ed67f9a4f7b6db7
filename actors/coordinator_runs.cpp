/// Runs: how one begins, goes on from an earlier coordinator, and ends, also
/// for want of space on the disk.
#include "actors/coordinator_shell.hpp"
#include "actors/run_summary.hpp"

#include <utility>

namespace ballast::actors {

/// One run at a time, its end included.
failure coordinator_shell::busy() {
  if (!state_->ending && !core().members.active() && queue_.empty())
    return {};
  return {errc::busy,
          "this coordinator is busy with run " + record().name() +
              ": it does one job at a time",
          {}};
}

failure coordinator_shell::submit(const submit_job& order) {
  if (failure refused = busy())
    return refused;
  return lead(open_new_run(config_, order, core().config.term));
}

failure coordinator_shell::resume_past(const resume_run& order) {
  if (failure refused = busy())
    return refused;
  return lead(open_past_run(config_, order, core().config.term));
}

/// From now on this is the run.
failure coordinator_shell::lead(opening_result opened) {
  if (const auto* refused = std::get_if<failure>(&opened))
    return *refused;
  auto& run = std::get<opened_run>(opened);
  state_->record = run.record;
  ++state_->runs;
  gave_up_ = false;
  config_.records->set(std::move(run.record));
  if (config_.on_notice && !run.notice.empty())
    config_.on_notice(run.notice);
  if (config_.on_run_opened)
    config_.on_run_opened(record(), run.what);
  const bool taken_over = run.past.has_value();
  if (taken_over)
    (void)take_over(core(), std::move(*run.past), record().term(),
                    record().token());
  else
    (void)coordinator::submit(core(), run.what, record().name(),
                              record().term(), record().token());
  perform_decided();
  if (taken_over && config_.on_taken_over)
    queue_.add(queued_work{config_.on_taken_over});
  return {};
}

// -- the data -----------------------------------------------------------------

void coordinator_shell::prepared(const set_prepared& made) {
  std::string message = prepare_wait_.message();
  if (instant took = prepare_wait_.over(clock_now()); took.count() > 0)
    queue_.add(coordinator::actions{coordinator::write_event{
        coordinator::events::disk_full{took, {}, message}}});
  // The run may have ended while its data were read.
  if (core().members.phase() != coordinator::run_phase::preparing)
    return;
  try {
    record().prepared(core().run.spec.job, made, config_.core.build_id);
  } catch (const ballast_error& e) {
    if (e.what_failed().code == errc::disk_full)
      throw; // this comes again
    tell_core(coordinator::prepare_failed{e.what_failed()});
    return;
  }
  on(core(), coordinator::data_prepared{made.set}, now());
  coordinator::actions decided = state_->box.take();
  // Of a run that was taken over nothing is changed before this is decided.
  if (core().members.phase() != coordinator::run_phase::failed)
    queue_.add(queued_work{[this] { record().go_on(); }});
  queue_.add(std::move(decided));
}

/// A full disk is waited for, as every other write of the run.
void coordinator_shell::not_prepared(const coordinator::prepare_data& what,
                                     const caf::error& why) {
  failure problem = to_failure(why);
  const bool preparing =
      core().members.phase() == coordinator::run_phase::preparing;
  if (preparing)
    outcome_detail_ = detail_of(why);
  if (problem.code == errc::disk_full && preparing &&
      prepare_wait_.failed(problem.message, clock_now(), patience())) {
    prepare_again_ = what;
    return;
  }
  if (problem.code == errc::disk_full)
    problem.message +=
        "; waited for " + std::to_string(patience().count()) + " s";
  tell_core(coordinator::prepare_failed{std::move(problem)});
}

void coordinator_shell::prepare_again() {
  if (!prepare_again_ || !prepare_wait_.due(clock_now()))
    return;
  coordinator::prepare_data what = *std::exchange(prepare_again_, std::nullopt);
  if (core().members.phase() == coordinator::run_phase::preparing)
    queue_.add(coordinator::actions{what});
  else
    (void)prepare_wait_.over(clock_now()); // another run waits anew
}

void coordinator_shell::write_stale_workers() {
  if (!workers_stale_ || !state_->record)
    return;
  record().workers(monitor::workers_json(status_of(core(), now())));
  workers_stale_ = false;
}

// -- a full disk --------------------------------------------------------------

/// How long this run waits for space: not once it has failed for the lack.
std::chrono::seconds coordinator_shell::patience() {
  const bool none =
      gave_up_ || core().members.phase() == coordinator::run_phase::idle;
  return std::chrono::seconds(none ? 0 : core().run.spec.elastic().grace_s);
}

void coordinator_shell::give_up_queue(failure why) {
  monitor::log().error("{}", why.message);
  if (!core().members.active())
    return;
  if (why.code == errc::disk_full) {
    why.message += "; waited for " + std::to_string(patience().count()) +
                   " s. What was written is kept; with space `ballast run "
                   "--resume " +
                   record().folder().string() + "` goes on";
    gave_up_ = true;
  }
  queue_.drop(why);
  tell_core(coordinator::outside_trouble{std::move(why)});
}

/// A full disk takes no other worker's model either.
void coordinator_shell::model_saved(const saved_model& what) {
  if (what.problem.code != errc::disk_full)
    return tell_core(what);
  give_up_queue(what.problem);
}

// -- the end ------------------------------------------------------------------

void coordinator_shell::end(const coordinator::end_run& what) {
  // A stop was asked for and is obeyed: that is an end of its own, which the
  // report tells, also where the run could not go on before it.
  if (what.state == to_string(coordinator::run_phase::stopped))
    record().go_on();
  state_->ending = true;
  write_stale_workers();
  outcome_reason_ = what.reason;
  record().probe()->state(what.state);
  bool nothing_happened =
      record().untouched() ||
      (what.exit_code == 2 && core().run.steps.tally().samples == 0);
  if (record().untouched() && what.exit_code != 0) {
    std::string folder = record().folder().string();
    outcome_reason_ += "; " + folder +
                       " was left as it is: mend that, then go on with "
                       "`ballast run --resume " +
                       folder + "`";
  }
  if (what.goes_on && !nothing_happened && !gave_up_) // which has said so
    outcome_reason_ += "; mend that, then `ballast run --resume " +
                       record().folder().string() + "` goes on";
  how_it_ended_.reset();
  status_.reset();
  state_->background.write_report({this, state_->record, patience()}, what,
                                  summary_of(core(), what), nothing_happened);
}

void coordinator_shell::ended(const report_written& report) {
  coordinator_state& state = *state_;
  state.background.join_helper();
  state.ending = false;
  send(state.shards, drop_set{});
  const std::string& no_report = state.background.no_report();
  run_outcome out;
  out.name = record().name();
  out.folder = report.report.empty() ? "" : record().folder().string();
  out.exit_code = report.exit_code;
  out.reason = no_report.empty() ? outcome_reason_ : no_report;
  out.report = report.report;
  out.discarded = record().discarded();
  out.detail = std::exchange(outcome_detail_, {});
  coordinator::run_phase shown = core().members.phase();
  // Its audit may have found what nobody had; or there is no report.
  if (out.exit_code != 0 && shown == coordinator::run_phase::done)
    shown = coordinator::run_phase::failed;
  how_it_ended_ = {shown, {out.exit_code, out.reason, {}}};
  if (shown == coordinator::run_phase::failed)
    how_it_ended_->second.error = out.reason;
  status_.reset();
  if (config_.on_run_ended)
    config_.on_run_ended(out);
}

} // namespace ballast::actors
