/// The part of coordinator_core that takes over a run that an earlier life of a
/// coordinator led. Workers that kept their state come back to it under the
/// names that the journal knows; a fence then asks them what they hold, as
/// after any other failure. Where none comes back the run goes on from a
/// checkpoint.
#include "runtime/coordinator/coordinator_core.hpp"
#include "runtime/coordinator/past_steps.hpp"
#include "runtime/ledger/replay.hpp"

#include <algorithm>
#include <utility>

namespace ballast {

namespace {

uint32_t number_in(const std::string& name) {
  uint32_t out = 0;
  if (name.size() < 2 || name.size() > 9 || name[0] != 'w')
    return 0;
  for (char c : name.substr(1)) {
    if (c < '0' || c > '9')
      return 0;
    out = out * 10 + uint32_t(c - '0');
  }
  return out;
}

/// It went with the next planned change, not by a loss.
bool has_left(const past_run& past, const past_membership& of, worker_id who) {
  for (const past_plan& one : past.plans)
    if (one.body.generation > of.generation && one.effective) {
      const auto& shares = one.body.shares;
      return one.note.reason == "membership" &&
             std::none_of(shares.begin(), shares.end(),
                          [who](const share& s) { return s.worker == who; });
    }
  return false;
}

} // namespace

/// Names that `run` gives are never given twice.
void coordinator_core::note_name(const std::string& name) {
  last_name_ = std::max(last_name_, number_in(name));
}

coordinator_core::submit_result coordinator_core::on_resume(past_run past,
                                                            ballast::term life,
                                                            std::string token) {
  config_.token = std::move(token);
  submit_result out = on_submit(past.what, past.name, life);
  if (out.refused)
    return out;
  std::get<prepare_data>(out.then.back()).what = past.begun;
  starting_.clear(); // who is still there comes back by itself
  step_number begun_step =
      past.steps.empty() ? step_number{} : past.steps.back().step;
  std::get<events::coordinator_started>(
      std::get<write_event>(out.then.front()).what)
      .resumed = {begun_step, past.checkpoints.empty()
                                  ? step_number{}
                                  : past.checkpoints.back().holds.step};
  for (const past_membership& one : past.memberships) {
    last_generation_ = std::max(last_generation_, one.generation);
    for (size_t rank = 0; rank < one.workers.size(); ++rank) {
      worker_id id = one.workers[rank];
      last_worker_ = std::max(last_worker_, id);
      uint32_t& newest = incarnations_[one.names[rank]];
      newest = std::max(newest, one.incarnations[rank]);
      note_name(one.names[rank]);
      node& known = nodes_[id];
      known.id = id;
      known.incarnation = one.incarnations[rank];
      known.about.name = one.names[rank];
      known.connected = false;
      known.left = has_left(past, one, id);
    }
  }
  // Also of processes that no membership knows yet.
  if (past.alive)
    for (const std::string& name : *past.alive)
      note_name(name);
  for (const past_plan& one : past.plans)
    last_plan_ = std::max(last_plan_, one.body.number);
  run_->asked = std::move(past.asked);
  run_->balance = past.balance;
  workers_most_ = run_->asked.workers_of(run_->what);
  workers_wanted_ = workers_most_.value_or(workers_wanted_);
  // Whom no membership names was here too shortly for its number to be safe.
  bool less = std::erase_if(run_->asked.leaving, [this](worker_id who) {
                return !nodes_.contains(who);
              }) > 0;
  // Nobody is left to be stopped: that is done, however it ended.
  if (run_->asked.stop && past.asked_again && past.alive &&
      past.alive->empty()) {
    run_->asked.stop.reset();
    less = true;
  }
  // A user who resumes the run wants it to go on.
  bool resumed = past.asked_again && std::exchange(run_->asked.paused, false);
  if (less || resumed)
    out.then.push_back(journal_requests{run_->asked});
  if (resumed)
    out.then.push_back(write_event{events::resumed{begun_step, true}});
  leaving_.insert(run_->asked.leaving.begin(), run_->asked.leaving.end());
  run_->began = !past.plans.empty();
  run_->past = std::move(past);
  return out;
}

/// The data are here: everything as the earlier life left it, behind a fence.
void coordinator_core::restore(actions& out, instant now) {
  past_run past = *std::exchange(run_->past, std::nullopt);
  ledger_config rows{run_->what.seed, run_->what.train.global_batch,
                     run_->set.chunk_rows};
  recorded_run record{rows, {}};
  for (const past_plan& one : past.plans)
    if (one.effective)
      record.plans.push_back({one.body, *one.effective});
  auto give_up = [&](const std::string& why) {
    fail(out, {errc::run_dir_unusable, why, {}});
  };
  if (past.rows != run_->set.train_rows)
    return give_up("the training set has " +
                   std::to_string(run_->set.train_rows) +
                   " rows now, the run began with " +
                   std::to_string(past.rows) + ": it cannot go on");
  uint64_t batch = std::max<uint64_t>(rows.global_batch, 1);
  past_steps found = check_past_steps(past, record, run_->lineage,
                                      run_->what.train.epochs *
                                          ((past.rows + batch - 1) / batch),
                                      run_->set.test_rows > 0);
  if (found.problem)
    return fail(out, std::move(found.problem));
  static_cast<run_tally&>(*run_) = found.tally;
  run_->points = std::move(found.points);
  run_->book = std::move(found.book);
  run_->sound =
      !past.steps.empty() || past.undone ||
      std::any_of(past.plans.begin(), past.plans.end(),
                  [](const past_plan& one) {
                    return one.effective && value(one.effective->step) > 1;
                  });
  std::set<generation> trained;
  for (const committed_step& step : past.steps)
    trained.insert(step.generation);
  for (const past_membership& one : past.memberships)
    if (trained.contains(one.generation))
      proven_.insert(one.workers.begin(), one.workers.end());
  run_->copy_wanted = owes_copy();
  run_->recoveries = past.recoveries;
  run_->test = past.test;
  for (refused_checkpoint& one : found.refused)
    out.push_back(refuse_checkpoint{one.what.file, std::move(one.why)});
  if (!found.lost.empty()) {
    out.push_back(write_event{events::steps_restored{found.lost.front().step,
                                                     found.lost.back().step}});
    out.push_back(write_steps{std::move(found.lost)});
  }
  plan_number in_force =
      run_->book ? run_->book->current().number : plan_number{};
  for (const past_plan& one : past.plans) {
    if (one.body.number < in_force)
      continue;
    run_->plans[one.body.number] = one.body;
    if (!one.effective)
      run_->offered.insert(one.body.number);
  }
  expect(out, past, now);
}

/// Opens the last membership again, with nobody in it yet, and fences it.
void coordinator_core::expect(actions& out, const past_run& past, instant now) {
  const past_membership* last = nullptr;
  const past_membership* offered = nullptr;
  auto effective = [&](const past_membership& one) {
    return std::any_of(
        past.plans.begin(), past.plans.end(), [&](const past_plan& p) {
          return p.body.generation == one.generation && p.effective.has_value();
        });
  };
  for (const past_membership& one : past.memberships) {
    if (effective(one)) {
      last = &one;
      offered = nullptr;
    } else {
      offered = &one;
    }
  }
  if (!last) {
    run_->phase = run_phase::waiting;
    if (run_->asked.stop)
      return end_without_holders(out, "");
    return form_generation(out);
  }
  open_generation(
      last->generation, last->workers,
      commit_tracker(last->workers.size(), run_->last.step, run_->last.step));
  auto add = [&](worker_id who) {
    const node& known = nodes_.at(who);
    if (joined_anew(who))
      return;
    if (!past.alive || past.alive->contains(known.about.name))
      run_->may_return.insert(who);
    else
      out.push_back(write_event{
          events::worker_lost{known.about.name, known.incarnation, std::nullopt,
                              losses::ended_unseen{}}});
  };
  for (worker_id who : last->workers)
    add(who);
  if (offered) {
    membership_change& change = run_->change.emplace();
    change.number = offered->generation;
    change.workers = offered->workers;
    change.addresses.resize(change.workers.size());
    change.data_addresses.resize(change.workers.size());
    for (worker_id who : change.workers)
      add(who);
  }
  // What was under way may be in force: then that is still to be told.
  for (const past_plan& one : past.plans) {
    if (one.effective || one.told)
      continue;
    if (one.body.generation == last->generation) {
      shard_transfer& transfer = run_->transfer.emplace();
      transfer.offered = one.body;
      transfer.note = one.note;
      transfer.sent = true;
    } else if (offered && one.body.generation == offered->generation) {
      run_->change->offered = one.body;
      run_->change->shares = one.note.shares;
    }
  }
  // Members of earlier generations are excluded by this one: what they hold may
  // be of another lineage.
  const recovery_reason why = recovery_reasons::coordinator_restarted{};
  run_->recovery = recovery_times{.reason = why, .begun = now};
  run_->recovery->fenced = now;
  run_->phase = run_phase::recovering;
  run_->fenced.emplace(last_generation_, run_->may_return, describe(why));
  run_->fence_deadline = now + detector_.return_patience();
  run_->fence_begun = now;
  run_->returns_until = now + std::chrono::seconds(run_->what.elastic.orphan_s);
  for (worker_id who : run_->may_return)
    if (nodes_.at(who).connected)
      out.push_back(send_fence{who, run_->fence_now(config_.term)});
  out.push_back(write_workers{});
  if (run_->fenced->complete())
    decide(out, now);
}

/// A worker of the earlier life, with all that it holds.
bool coordinator_core::returns(const worker_hello& hello) const {
  if (!active() || hello.was == worker_id{} || hello.run != run_->name)
    return false;
  auto found = nodes_.find(hello.was);
  if (found == nodes_.end() || found->second.connected ||
      found->second.about.name != hello.name)
    return false;
  return run_->past.has_value() || run_->may_return.contains(hello.was);
}

/// Its process is here as another worker. `run` gives no name twice; by hand a
/// second process may have it while the first one is frozen.
bool coordinator_core::joined_anew(worker_id who) const {
  const std::string& name = nodes_.at(who).about.name;
  return config_.supervised &&
         std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& one) {
           return one.first != who && one.second.connected &&
                  one.second.about.name == name;
         });
}

void coordinator_core::welcome_back(hello_result& out,
                                    const worker_hello& hello, instant now) {
  node& back = nodes_.at(hello.was);
  back.about = hello;
  back.connected = true;
  detector_.heard(back.id, now);
  last_generation_ = std::max(last_generation_, hello.seen);
  out.accepted = welcome{back.id, back.incarnation, config_.term,
                         uint32_t(config_.heartbeat.count())};
  if (hello.leaving) {
    leaving_.insert(back.id);
    if (run_->asked.leaving.insert(back.id).second)
      out.then.push_back(journal_requests{run_->asked});
  }
  if (run_->fenced && run_->fenced->awaited().contains(back.id))
    out.then.push_back(send_fence{back.id, run_->fence_now(config_.term)});
  out.then.push_back(write_event{events::worker_returned{process_of(back)}});
  out.then.push_back(write_workers{});
}

} // namespace ballast
