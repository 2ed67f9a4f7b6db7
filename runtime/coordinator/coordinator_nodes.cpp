/// The half of coordinator_core that deals with nodes: who joins, who is lost.
#include "runtime/base/node_name.hpp"
#include "runtime/base/run_mark.hpp"
#include "runtime/coordinator/coordinator_core.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ballast {

namespace {

/// A supervisor's report of how a process ended arrives within this time.
constexpr std::chrono::milliseconds exit_report_wait{1000};
/// The workers of `run` join within this time, also on a busy machine.
constexpr std::chrono::seconds join_wait{60};
/// Whoever waits longer for workers is told.
constexpr std::chrono::seconds told_wait{4};

/// It holds the state of a run that this coordinator knows nothing of: it is to
/// keep it, and to look for its own coordinator.
failure stranger(const worker_hello& hello, const coordinator_core& core) {
  const coordinator_config& config = core.config();
  if (hello.run.empty() || hello.run_mark.empty() ||
      config.ended_runs.contains(hello.run_mark) ||
      (core.current() && core.current()->name == hello.run &&
       run_mark(config.token, hello.run) == hello.run_mark))
    return {};
  return {errc::other_run,
          "worker " + hello.name + " is in the midst of run " + hello.run +
              ", which this coordinator does not lead: was it started with "
              "another --state folder? The worker keeps its state and looks "
              "on for its own coordinator",
          {}};
}

} // namespace

std::string describe_node(const node& who) {
  return "worker " + who.about.name + " (pid " + std::to_string(who.about.pid) +
         " on " + who.about.host + ")";
}

events::worker_process process_of(const node& who) {
  return {who.about.name, who.incarnation, who.about.pid, who.about.host};
}

coordinator_core::hello_result
coordinator_core::on_hello(const worker_hello& hello, instant now) {
  if (hello.build_id != config_.build_id)
    return {{},
            {errc::other_build,
             "node " + hello.name + " is build " + hello.build_id +
                 ", this coordinator is build " + config_.build_id +
                 ": only equal builds may join one cluster",
             {}},
            {}};
  if (!is_node_name(hello.name))
    return {{}, {errc::usage, node_name_mistake(hello.name), {}}, {}};
  if (failure why = stranger(hello, *this))
    return {{}, why, {}};
  uint64_t& memory = memory_[hello.host];
  memory = std::max(memory, hello.memory_bytes);
  if (returns(hello)) {
    hello_result back;
    welcome_back(back, hello, now);
    return back;
  }
  for (const auto& [id, other] : nodes_)
    if (other.connected && other.about.name == hello.name)
      return {{},
              {errc::name_taken,
               "a node named " + hello.name + " is already here (pid " +
                   std::to_string(other.about.pid) + " on " + other.about.host +
                   "): start this one with another --name",
               {}},
              {}};
  note_name(hello.name);
  last_generation_ = std::max(last_generation_, hello.seen);
  last_worker_ = next(last_worker_);
  node fresh;
  fresh.id = last_worker_;
  fresh.incarnation = ++incarnations_[hello.name];
  fresh.about = hello;
  if (active())
    if (auto away = run_->absent.find(hello.name);
        away != run_->absent.end() && now < away->second.until)
      fresh.held_back_until = away->second.until;
  nodes_[fresh.id] = fresh;
  starting_.erase(hello.name);
  expelled_.erase(hello.name);
  detector_.heard(fresh.id, now);
  hello_result out;
  out.accepted = welcome{fresh.id, fresh.incarnation, config_.term,
                         uint32_t(config_.heartbeat.count())};
  if (active()) {
    out.then.push_back(
        write_event{events::worker_joined{process_of(fresh), hello.device}});
    out.then.push_back(write_workers{});
  }
  if (active())
    for (worker_id old : std::set(run_->may_return))
      if (run_->may_return.contains(old) && joined_anew(old)) {
        actions more = lose_for_good(old, losses::joined_anew{}, now);
        out.then.insert(out.then.end(), std::make_move_iterator(more.begin()),
                        std::make_move_iterator(more.end()));
      }
  form_generation(out.then);
  if (active() && run_->fenced && run_->fenced->complete())
    decide(out.then, now);
  else if (phase() == run_phase::recovering && !run_->fenced &&
           run_->short_of_memory && !waits_for_memory())
    recover(out.then, recovery_reason(run_->recovery->reason), now, now);
  return out;
}

void coordinator_core::on_heartbeat(const heartbeat& beat, instant now) {
  auto found = nodes_.find(beat.worker);
  if (found == nodes_.end() || !found->second.connected)
    return;
  found->second.last = beat;
  detector_.heard(beat.worker, now);
  if (active())
    run_->loads.heard(beat, now);
  stragglers_.heard(beat.worker, beat.trouble, now);
}

actions coordinator_core::on_node_down(worker_id who, const loss_cause& cause,
                                       instant now) {
  auto found = nodes_.find(who);
  if (found == nodes_.end() || !found->second.connected)
    return {};
  return lose(who, cause, now);
}

actions coordinator_core::on_process_ended(const std::string& name,
                                           const process_end& how,
                                           instant now) {
  actions out;
  expelled_.erase(name);
  starting_.erase(name);
  if (active() && run_->past && run_->past->alive)
    run_->past->alive->erase(name);
  std::vector<worker_id> gone;
  for (const auto& [id, who] : nodes_)
    if (who.about.name == name &&
        (who.connected || (active() && run_->may_return.contains(id))))
      gone.push_back(id);
  for (worker_id who : gone) {
    actions more = lose_for_good(who, how, now);
    out.insert(out.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  }
  if (!gone.empty())
    return out;
  for (auto [id, since] : std::map(unexplained_))
    if (nodes_.at(id).about.name == name) {
      explain(out, id, how, now);
      return out;
    }
  if (!active() || phase() == run_phase::finishing)
    return {};
  for (const auto& [id, who] : nodes_)
    if (who.about.name == name)
      return {};
  std::string what =
      "worker " + name + " ended before it joined: " + describe(how);
  early_death(out, what, now);
  return nobody_comes() ? fail({errc::worker_lost, what, {}}) : out;
}

/// The reason of a loss is final: what waited for it happens.
void coordinator_core::explain(actions& out, worker_id who,
                               const loss_cause& cause, instant now) {
  tell_loss(out, who, cause);
  if (!active() || !std::exchange(end_awaits_reason_, false))
    return;
  if (!run_->members) {
    fail(out, {errc::worker_lost,
               describe_node(nodes_.at(who)) + " lost: " + describe(cause),
               {}});
  } else if (run_->fenced && run_->fenced->complete()) {
    decide(out, now);
  }
}

/// The one line of events.jsonl about a loss, and the reason of what follows.
void coordinator_core::tell_loss(actions& out, worker_id who,
                                 const loss_cause& cause) {
  unexplained_.erase(who);
  const node& gone = nodes_.at(who);
  if (!run_)
    return;
  if (run_->recovery && run_->recovery->lost == who)
    run_->recovery->reason =
        recovery_reasons::worker_lost{gone.about.name, cause};
  out.push_back(write_event{events::worker_lost{
      gone.about.name, gone.incarnation,
      events::worker_lost::place{gone.about.pid, gone.about.host}, cause}});
  explain_death(out, who, cause);
}

actions coordinator_core::lose(worker_id who, const loss_cause& cause,
                               instant now) {
  node& gone = nodes_.at(who);
  gone.connected = false;
  gone.left = gone.about.leaving && !(active() && run_->members &&
                                      member(who, run_->members->number));
  instant bad_sign = detector_.last_word(who);
  gone.last_word = bad_sign;
  detector_.forget(who);
  stragglers_.forget(who);
  actions out;
  if (!active())
    return out;
  run_->loads.forget(who);
  run_->may_return.erase(who);
  unexplained_[who] = {cause, now};
  if (in_a_step(who))
    run_->step_deaths[who];
  if (!config_.supervised) // nobody will tell how its process ended
    tell_loss(out, who, cause);
  out.push_back(write_workers{});
  if (!proven_.contains(who))
    early_death(out, describe_node(gone) + " lost: " + describe(cause), now);
  recovery_reason why = recovery_reasons::worker_lost{gone.about.name, cause};
  end_awaits_reason_ = end_awaits_reason_ || nobody_comes();
  if (!run_->members)
    return out;
  bool joining =
      run_->change && std::count(run_->change->workers.begin(),
                                 run_->change->workers.end(), who) > 0;
  bool asked = run_->fenced && (run_->fenced->awaited().contains(who) ||
                                run_->fenced->acks().contains(who));
  // Who leaves may still owe the others the last step before the switch.
  auto& leavers = run_->members->leavers;
  bool owes = std::count(leavers.begin(), leavers.end(), who) > 0;
  if (!member(who, run_->members->number) && !joining && !asked && !owes)
    return out;
  if (phase() == run_phase::finishing)
    return out; // the model is fetched from another if it cannot be from here
  if (!run_->fenced) {
    // Silence began with its last word; a death is seen when it is told.
    bool silent = std::holds_alternative<losses::silent>(cause);
    recover(out, std::move(why), silent ? std::min(bad_sign, now) : now, now,
            who);
    return out;
  }
  run_->recovery->reason = std::move(why);
  run_->recovery->lost = who;
  run_->fenced->forget(who);
  if (run_->fenced->complete())
    decide(out, now);
  return out;
}

/// It may live on. However its process ends then, this is the reason.
/// With a reason that nobody will know better.
actions coordinator_core::lose_for_good(worker_id who, const loss_cause& cause,
                                        instant now) {
  actions out = lose(who, cause, now);
  if (unexplained_.contains(who))
    explain(out, who, cause, now);
  return out;
}

actions coordinator_core::exclude(worker_id who, const loss_cause& cause,
                                  instant now) {
  actions out = lose_for_good(who, cause, now);
  show_out(out, who);
  return out;
}

/// Its process may still be there.
void coordinator_core::show_out(actions& out, worker_id who,
                                std::string dismissed, std::string reason) {
  if (joined_anew(who))
    return; // the supervisor would end a worker that trains
  expelled_.insert(nodes_.at(who).about.name);
  out.push_back(expel{who, std::move(dismissed), std::move(reason)});
}

actions coordinator_core::on_tick(instant now) {
  excuse_own_freeze(now);
  actions out;
  if (active())
    tell_stragglers(out, now);
  if (active())
    observe(out, now);
  auto append = [&out](actions more) {
    out.insert(out.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  };
  for (auto [who, why] : std::map(unexplained_))
    if (now - why.since > exit_report_wait && unexplained_.contains(who))
      explain(out, who, why.cause, now);
  judge_silence(out, now);
  if (active())
    for (const load_watch::finding& one : run_->loads.stalled())
      if (active() && nodes_.at(one.who).connected)
        append(exclude(one.who, one.what, now));
  bool again = active() && run_->opening.tick(now);
  if (active())
    run_->joining.tick(now);
  if (active() && run_->fenced && run_->fenced->complete() &&
      (run_->asked.stop || again))
    decide(out, now); // it waited for more workers, or for the next attempt
  if (may_make_room())
    recover(out, recovery_reason(run_->recovery->reason), now, now);
  if (run_ && run_->asked.stop && !run_->fenced && run_->short_of_memory &&
      phase() == run_phase::recovering)
    finish(out, run_phase::stopped, run_->asked.stop_code(),
           "stopped while no worker had room for all data; `ballast run "
           "--resume` goes on from the newest checkpoint");
  conclude_refused(out, now);
  ask_again_for_model(out, now);
  if (active() && run_->copy_again && now >= *run_->copy_again) {
    run_->copy_again.reset();
    if (owes_copy())
      want_copy(out);
  }
  forget_dead();
  let_back(now);
  replace_workers(out);
  consider_change(out);
  if (active())
    part_from_all(out, now);
  tell_long_wait(out, now);
  tell_slow_opening(out, now);
  return out;
}

/// A run that waits for workers says so before anybody wonders. In a cluster
/// somebody may still come; `run` has started all there are.
void coordinator_core::tell_long_wait(actions& out, instant now) {
  if (phase() != run_phase::waiting) {
    waiting_since_.reset();
    return;
  }
  if (!waiting_since_)
    waiting_since_ = now;
  size_t here = 0;
  for (const auto& [id, who] : nodes_)
    here += who.connected ? 1 : 0;
  std::string joined = std::to_string(here) + " of " +
                       std::to_string(run_->began ? run_->what.elastic.workers
                                                  : workers_wanted_) +
                       " workers";
  if (config_.supervised && now - *waiting_since_ > join_wait) {
    fail(out,
         {errc::worker_lost,
          "only " + joined + " joined within 60 s; see their files in logs/",
          {}});
  } else if (now - *waiting_since_ > told_wait && run_->waits.empty()) {
    std::string gone;
    for (const std::string& name : expelled_)
      gone += (gone.empty() ? "; excluded, and not ended yet: " : ", ") + name;
    say_waiting(out, joined + " are here: waits for more" + gone);
  }
}

void coordinator_core::early_death(actions& out, const std::string& what,
                                   instant now) {
  const elastic_spec& how = run_->what.elastic;
  auto window = std::chrono::seconds(how.respawn_window_s);
  std::erase_if(early_deaths_, [&](instant one) { return now - one > window; });
  early_deaths_.push_back(now);
  if (!config_.supervised)
    return; // whoever starts nodes watches them
  if (early_deaths_.size() == how.respawn_limit + 1)
    out.push_back(write_event{events::respawn_ended{
        early_deaths_.size(), how.respawn_window_s, what}});
}

/// And the run has never begun.
bool coordinator_core::nobody_comes() const {
  return config_.supervised && !run_->members && !respawns();
}

/// A long run sees many come and go.
void coordinator_core::forget_dead() {
  constexpr size_t kept = 32; // the newest, for who looks at the status
  std::vector<worker_id> dead;
  for (const auto& [id, who] : nodes_)
    if (!who.connected && !unexplained_.contains(id))
      dead.push_back(id);
  auto needed = [this](worker_id who) {
    if (!run_)
      return false;
    auto in = [who](const std::vector<worker_id>& list) {
      return std::find(list.begin(), list.end(), who) != list.end();
    };
    return run_->past || run_->may_return.contains(who) ||
           (run_->members &&
            (in(run_->members->workers) || in(run_->members->leavers))) ||
           (run_->change && in(run_->change->workers)) ||
           (run_->fenced && (run_->fenced->acks().contains(who) ||
                             run_->fenced->awaited().contains(who)));
  };
  for (size_t i = 0; i + kept < dead.size(); ++i)
    if (!needed(dead[i])) {
      nodes_.erase(dead[i]);
      proven_.erase(dead[i]);
      leaving_.erase(dead[i]);
    }
}

bool coordinator_core::respawns() const {
  return config_.supervised && run_->what.elastic.respawn &&
         early_deaths_.size() <= run_->what.elastic.respawn_limit;
}

/// `run` keeps as many workers as were asked for.
void coordinator_core::replace_workers(actions& out) {
  if (!active() || run_->past || run_->asked.stop ||
      phase() == run_phase::finishing)
    return;
  // Nobody is left of an earlier life: then also without respawn.
  bool anew = phase() == run_phase::waiting && run_->began &&
              config_.supervised && starting_.empty();
  if (!respawns() && !anew)
    return;
  size_t here = starting_.size() + expelled_.size();
  for (const auto& [id, who] : nodes_)
    here += (who.connected && !leaving_.contains(id)) ||
                    run_->may_return.contains(id)
                ? 1
                : 0;
  for (; here < workers_wanted_; ++here) {
    std::string name = "w" + std::to_string(++last_name_);
    starting_.insert(name);
    out.push_back(start_worker{name});
  }
}

} // namespace ballast
