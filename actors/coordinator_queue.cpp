/// The order in which decisions are performed, also where the disk is full for
/// a while: what is journaled comes before what is sent because of it, so
/// everything behind a write that does not fit waits with it. Messages are
/// taken in meanwhile; what the core decides about them queues up behind.
#include "actors/coordinator_shell.hpp"

#include <iterator>

namespace ballast {

void coordinator_shell::perform(actions list) {
  std::move(list.begin(), list.end(), std::back_inserter(queue_));
  if (!wait_.waiting())
    work_off();
}

void coordinator_shell::perform_later(queued_work what) {
  queue_.emplace_back(std::move(what));
  if (!wait_.waiting())
    work_off();
}

void coordinator_shell::work_off() {
  if (working_)
    return; // an entry of the queue added to it
  struct guard {
    bool& on;
    ~guard() { on = false; }
  } busy{working_};
  working_ = true;
  while (!queue_.empty()) {
    queued first = std::move(queue_.front());
    queue_.pop_front();
    try {
      if (auto* work = std::get_if<queued_work>(&first))
        work->todo();
      else
        std::visit([this](const auto& what) { perform_now(what); },
                   std::get<action>(first));
    } catch (const ballast_error& e) {
      if (waits_for(e.what_failed())) {
        queue_.push_front(std::move(first));
        return;
      }
      give_up_queue(e.what_failed());
      continue;
    }
    if (!wait_.waiting())
      continue;
    std::string message = wait_.message();
    instant took = wait_.over(clock_now());
    waited_ += took;
    log().info("there is space again after {} ms", took.count() / 1'000'000);
    queue_.emplace_front(write_event{events::disk_full{took, {}, message}});
  }
}

/// How long this run waits for space: not once it has failed for the lack.
std::chrono::seconds coordinator_shell::patience() {
  const bool none = gave_up_ || core().phase() == run_phase::idle;
  return std::chrono::seconds(none ? 0 : core().run().spec.elastic().grace_s);
}

bool coordinator_shell::waits_for(const failure& why) {
  if (why.code != errc::disk_full)
    return false;
  instant since = wait_.waiting() ? wait_.since() : clock_now();
  if (wait_.failed(why.message, clock_now(), patience()))
    return true;
  waited_ += clock_now() - since;
  return false;
}

/// What could not be written did not happen, and nothing that was decided
/// behind it.
void coordinator_shell::give_up_queue(failure why) {
  log().error("{}", why.message);
  if (!core().active())
    return;
  if (why.code == errc::disk_full) {
    why.message += "; waited for " + std::to_string(patience().count()) +
                   " s. What was written is kept; with space `ballast run "
                   "--resume " +
                   record().folder().string() + "` goes on";
    gave_up_ = true;
  }
  std::deque<queued> rest = std::exchange(queue_, {});
  for (queued& one : rest)
    if (auto* work = std::get_if<queued_work>(&one); work && work->dropped)
      work->dropped(why);
  tell_core(outside_trouble{std::move(why)});
}

/// A full disk takes no other worker's model either.
void coordinator_shell::model_saved(const saved_model& what) {
  if (what.problem.code != errc::disk_full)
    return tell_core(what);
  give_up_queue(what.problem);
}

// -- the data ----------------------------------------------------------------

void coordinator_shell::perform_now(const prepare_data& what) {
  request(state_->shards, preparing_deadline,
          prepare_set{what.what, record().token()})
      .then(
          [this, run = state_->runs](const set_prepared& made) {
            if (run == state_->runs)
              perform_later({[this, made] { prepared(made); }});
          },
          [this, what, run = state_->runs](const caf::error& why) {
            if (run == state_->runs)
              not_prepared(what, why);
          });
}

/// A full disk is waited for, as every other write of the run.
void coordinator_shell::not_prepared(const prepare_data& what,
                                     const caf::error& why) {
  failure problem = to_failure(why);
  const bool preparing = core().phase() == run_phase::preparing;
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
  tell_core(prepare_failed{std::move(problem)});
}

void coordinator_shell::prepared(const set_prepared& made) {
  std::string message = prepare_wait_.message();
  if (instant took = prepare_wait_.over(clock_now()); took.count() > 0)
    perform({write_event{events::disk_full{took, {}, message}}});
  // The run may have ended while its data were read.
  if (core().phase() != run_phase::preparing)
    return;
  try {
    record().prepared(core().run().spec.job, made, config_.core.build_id);
  } catch (const ballast_error& e) {
    if (e.what_failed().code == errc::disk_full)
      throw; // this comes again
    tell_core(prepare_failed{e.what_failed()});
    return;
  }
  core().take(data_prepared{made.set}, now());
  go_on_with(state_->box.take());
}

void coordinator_shell::prepare_again() {
  if (!prepare_again_ || !prepare_wait_.due(clock_now()))
    return;
  prepare_data what = *std::exchange(prepare_again_, std::nullopt);
  if (core().phase() == run_phase::preparing)
    perform({what});
  else
    (void)prepare_wait_.over(clock_now()); // another run waits anew
}

// -- who is told -------------------------------------------------------------

void coordinator_shell::tick() {
  status_.reset();
  if (wait_.waiting() && wait_.due(clock_now()))
    work_off();
  prepare_again();
  if (!wait_.waiting())
    tell_core(clock_tick{});
  note_waiting_workers();
  tell_disk_trouble();
}

bool coordinator_shell::summaries_due() {
  const bool waits = core().phase() == run_phase::recovering;
  return ++ticks_ % (waits ? 40 : 10) == 0 || !many_workers();
}

void coordinator_shell::refresh_workers() {
  if (workers_stale_ && !wait_.waiting())
    perform_later({[this] { write_stale_workers(); }});
}

void coordinator_shell::write_stale_workers() {
  if (!workers_stale_ || !state_->record)
    return;
  record().workers(workers_json(status_of(core(), now())));
  workers_stale_ = false;
}

void coordinator_shell::perform_now(const write_workers&) {
  // Of hundreds of workers the file takes milliseconds: not on the way of a
  // change of the membership, and once for all that changes meanwhile.
  workers_stale_ = many_workers();
  if (!workers_stale_)
    record().workers(workers_json(status_of(core(), now())));
}

std::string coordinator_shell::disk_trouble() {
  for (std::string text :
       {wait_.sentence(), prepare_wait_.sentence(), state_->space->sentence()})
    if (!text.empty())
      return text;
  if (!waiting_workers_.empty())
    return "disk full: worker " + waiting_workers_.begin()->first +
           " cannot write its trace; the run waits for it up to " +
           std::to_string(patience().count()) + " s (elastic.grace_s)";
  return {};
}

/// What a user should see though the run goes on.
void coordinator_shell::perform_now(const write_event& what) {
  const auto* unopened = std::get_if<events::cannot_open>(&what.what);
  if (unopened && config_.on_trouble)
    config_.on_trouble(unopened->message + "; it is tried again, " +
                       std::to_string(unopened->attempts) +
                       " attempts failed so far");
  record().perform(what);
  status_.reset(); // shows no less than the events do
}

/// At once, and then every five seconds: also where it comes and goes, as with
/// each attempt to write.
void coordinator_shell::tell_disk_trouble() {
  std::string text = disk_trouble();
  bool tell = !text.empty() && ((last_trouble_.empty() && text != told_text_) ||
                                clock_now() - told_ >= disk_wait::tell_every);
  last_trouble_ = text;
  if (!tell)
    return;
  told_text_ = text;
  told_ = clock_now();
  log().warn("{}", text);
  if (config_.on_trouble)
    config_.on_trouble(text);
}

/// Workers say so in their heartbeats.
void coordinator_shell::note_waiting_workers() {
  if (!core().active())
    return waiting_workers_.clear();
  for (const auto& [id, who] : core().nodes().all()) {
    bool waits = who.connected && who.last.phase == worker_phase::disk_full;
    if (waits) {
      waiting_workers_.try_emplace(who.about.name, clock_now());
      continue;
    }
    auto found = waiting_workers_.find(who.about.name);
    if (found == waiting_workers_.end())
      continue;
    instant took = clock_now() - found->second;
    waiting_workers_.erase(found);
    perform({write_event{events::disk_full{took, who.about.name}}});
  }
}

run_status coordinator_shell::make_status() {
  run_status out = status_of(core(), now());
  out.now = clock_now(); // as in events.jsonl
  out.disk_trouble = disk_trouble();
  if (state_->ending || (!queue_.empty() && !core().active())) {
    out.state = run_phase::finishing;
  } else if (!core().active() && how_it_ended_) {
    out.state = how_it_ended_->first;
    out.ended = how_it_ended_->second;
  }
  return out;
}

const run_status& coordinator_shell::status() {
  if (!status_)
    status_ = make_status();
  return *status_;
}

} // namespace ballast
