/// The part of coordinator_core that goes on after a failure: fence, decide,
/// and the account of how long that took.
///
///   bad sign -> fence every generation issued so far -> an answer from each
///   member, or its death -> base = the newest step that a living member holds
///   -> the next generation and a plan for it, journaled -> load, connect,
///   bring states to the base -> first step
///
/// Whatever fails on the way leads to another fence. Survivors keep process,
/// model and data all the time.
#include "runtime/base/check.hpp"
#include "runtime/coordinator/coordinator_core.hpp"

#include <algorithm>
#include <utility>

namespace ballast {

namespace {

events::milliseconds span(instant from, instant to) {
  return std::max(to - from, instant{0});
}

} // namespace

/// The plan of the next step.
void coordinator_core::enter(ledger& book, plan_number number) const {
  if (number == book.current().number)
    return;
  auto refused = book.switch_to(run_->plans.at(number));
  BALLAST_CHECK(!refused, "an applied plan must fit: " + *refused);
}

void coordinator_core::follow(ledger& book, const committed_step& step) const {
  enter(book, step.plan);
  book.advance();
}

ledger
coordinator_core::book_at(const std::vector<committed_step>& steps) const {
  ledger out = *run_->book;
  for (const committed_step& step : steps)
    follow(out, step);
  return out;
}

/// `lost`: whom the reason names; set here, because the recovery may be over
/// when this returns.
void coordinator_core::recover(actions& out, recovery_reason why,
                               instant bad_sign, instant now, worker_id lost) {
  run& now_run = *run_;
  if (!now_run.recovery)
    now_run.recovery = recovery_times{.reason = why, .begun = bad_sign};
  now_run.recovery->reason = why;
  now_run.recovery->first_hand = false;
  now_run.recovery->fenced = now;
  if (lost != worker_id{})
    now_run.recovery->lost = lost;
  std::set<worker_id> asked;
  for (worker_id who : now_run.members->workers)
    if (nodes_.at(who).connected)
      asked.insert(who);
  if (now_run.change)
    for (worker_id who : now_run.change->workers)
      if (nodes_.at(who).connected)
        asked.insert(who);
  // Who has left but is not released may be the last one to hold a step.
  for (worker_id who : now_run.members->leavers)
    if (nodes_.at(who).connected)
      asked.insert(who);
  now_run.fenced.emplace(last_generation_, asked, describe(why));
  now_run.fence_begun = now;
  now_run.fence_deadline = now + detector_.ack_patience();
  now_run.phase = run_phase::recovering;
  for (worker_id who : asked)
    out.push_back(send_fence{who, run_->fence_now(config_.term)});
  out.push_back(write_workers{});
  if (now_run.fenced->complete())
    decide(out, now);
}

actions coordinator_core::on_ack(const final_ack& ack, instant now) {
  if (!active() || !run_->fenced || !nodes_.contains(ack.worker) ||
      !nodes_.at(ack.worker).connected)
    return {};
  // The others get the usual time from here on.
  if (!run_->waits.empty())
    run_->fence_deadline =
        std::max(run_->fence_deadline, now + detector_.ack_patience());
  actions out;
  if (ack.more && run_->fenced->awaits(ack) && !ack.records.empty()) {
    // A coordinator was away for long: the steps since then come in parts, and
    // commit as they would in a report.
    detector_.heard(ack.worker, now);
    generation_state& members = *run_->members;
    if (member(ack.worker, members.number))
      commit_all(members.commits.applied(rank_of(ack.worker), ack.records),
                 out);
    else
      members.commits.note(ack.records);
    // A worker that goes on telling is not late.
    run_->fence_deadline =
        std::max(run_->fence_deadline, now + detector_.ack_patience());
    fence_order rest = run_->fence_now(config_.term);
    rest.known = std::max(rest.known, ack.records.back().step);
    out.push_back(send_fence{ack.worker, std::move(rest)});
    return out;
  }
  if (ack.more || !run_->fenced->take(ack))
    return out;
  detector_.heard(ack.worker, now);
  const bool of_change =
      run_->change && !member(ack.worker, run_->members->number);
  note_links(*run_, ack.worker,
             of_change ? run_->change->number : run_->members->number,
             ack.links);
  if (run_->fenced->complete())
    decide(out, now);
  return out;
}

void coordinator_core::decide(actions& out, instant now) {
  judge_nccl(*run_);
  if (judge_opening(out, now))
    return; // without whom it showed out
  fence& held = *run_->fenced;
  generation_state& members = *run_->members;
  // What the dead had reported and what the living add to it: steps that all
  // members applied commit.
  std::vector<step_record> told;
  for (const auto& [who, ack] : held.acks()) {
    told.insert(told.end(), ack.records.begin(), ack.records.end());
    if (member(who, members.number))
      commit_all(members.commits.applied(rank_of(who), ack.records), out);
  }
  std::optional<step_number> base = held.base();
  if (!base && !held.acks().empty() && value(run_->last.step) == 0)
    base = step_number{0}; // the seed is the state
  if (!base && held.acks().empty() && run_->samples == 0) {
    // Nobody answers, and nothing is lost: from the seed again.
    go_back(out, describe(run_->recovery->reason));
    return;
  }
  if (!base || *base < members.commits.committed()) {
    if (!can_go_back() && !unexplained_.empty()) {
      end_awaits_reason_ = true;
      return;
    }
    return go_back(out, "every worker that held the model of step " +
                            to_string(members.commits.committed()) +
                            " is lost: " + describe(run_->recovery->reason));
  }
  for (const evaluation_report& one : held.evaluations())
    note_evaluation(one, out);
  std::vector<worker_id> workers;
  for (worker_id who : members.workers)
    if (held.acks().contains(who))
      workers.push_back(who);
  auto holds_base = [&](worker_id who) {
    auto found = held.acks().find(who);
    return found != held.acks().end() && found->second.holds_state &&
           found->second.step == *base;
  };
  bool held_by_others =
      std::any_of(held.acks().begin(), held.acks().end(), [&](const auto& one) {
        return holds_base(one.first) &&
               std::count(members.leavers.begin(), members.leavers.end(),
                          one.first) == 0;
      });
  std::vector<worker_id> leavers;
  for (const auto& [who, ack] : held.acks()) {
    if (member(who, members.number) || !ack.holds_state)
      continue;
    // Who got its state in time joins; who has left is only called back if
    // nobody else holds what it holds, or the others have no room.
    if (std::count(members.leavers.begin(), members.leavers.end(), who) == 0 ||
        (!held_by_others && holds_base(who)) ||
        (run_->short_of_memory && may_train(nodes_.at(who))))
      workers.push_back(who);
    else
      leavers.push_back(who);
  }
  call_back_absent(run_->what.elastic.min_workers);
  if (workers.size() < run_->what.elastic.min_workers || run_->short_of_memory)
    for (const auto& [id, who] : nodes_)
      if (may_train(who) && !held.acks().contains(id))
        workers.push_back(id);
  // To stop, those who are left are enough.
  size_t least = run_->asked.stop ? 1 : run_->what.elastic.min_workers;
  if (workers.size() < least) {
    if (config_.supervised && !respawns()) {
      fail(out, {errc::worker_lost,
                 "only " + std::to_string(workers.size()) +
                     " workers are left and no more are started, "
                     "elastic.min_workers is " +
                     std::to_string(run_->what.elastic.min_workers) + ": " +
                     describe(run_->recovery->reason),
                 {}});
      return;
    }
    run_->short_of_workers = true;
    say_waiting(out, std::to_string(workers.size()) + " of at least " +
                         std::to_string(run_->what.elastic.min_workers) +
                         " workers are here (elastic.min_workers): waits for "
                         "more, " +
                         describe(run_->recovery->reason));
    return; // the fence lasts; on_hello, lose and stop come back here
  }
  if (run_->opening.held() && !run_->asked.stop)
    return; // likewise; on_tick comes back here
  std::set<worker_id> stale;
  std::set<worker_id> late;
  std::optional<uint32_t> source;
  for (size_t rank = 0; rank < workers.size(); ++rank) {
    auto found = held.acks().find(workers[rank]);
    bool holds = found != held.acks().end() && found->second.holds_state;
    if (!holds || next(found->second.step) < *base)
      stale.insert(workers[rank]);
    else if (found->second.step < *base)
      late.insert(workers[rank]);
    else if (!source)
      source = uint32_t(rank);
  }
  if (!source)
    stale.clear(); // before the first step
  members.commits.note(told);
  std::vector<committed_step> inherited = members.commits.waiting(*base);
  if (value(members.commits.committed()) + inherited.size() != value(*base)) {
    fail(out, {errc::internal,
               "the parameters contain steps up to " + to_string(*base) +
                   ", but nobody can tell what all of them were",
               {}});
    return;
  }
  // Without a book nothing was ever placed.
  plan before;
  if (run_->book) {
    ledger at = book_at(inherited);
    before = at.current();
    if (run_->transfer && run_->transfer->offered.number == before.number)
      transfer_took_effect(out, *base);
    if (run_->change && run_->change->offered.number == before.number)
      tell_switch(out, *run_->change, *base);
    locate_deaths(out, at);
  }
  drop_transfer(out, describe(run_->recovery->reason));
  step_number committed = members.commits.committed();
  run_->recovery->acked = now;
  run_->fenced.reset();
  run_->may_return.clear();
  run_->short_of_workers = false;
  if (run_->opening.failures() == 0) // else it goes on
    run_->waits.clear();
  last_generation_ = next(last_generation_);
  last_plan_ = next(last_plan_);
  run_->change.reset();
  open_generation(last_generation_, workers,
                  commit_tracker(workers.size(), committed, *base, inherited));
  run_->members->leavers = std::move(leavers);
  run_->members->from_seed = !source;
  run_->members->stale = std::move(stale);
  run_->members->late = std::move(late);
  run_->members->source = source.value_or(0);
  out.push_back(placing(workers, std::move(before)));
}

epoch_number coordinator_core::evaluation_owed() const {
  position at = run_->book->next();
  for (const committed_step& step :
       run_->members->commits.waiting(run_->members->commits.base()))
    at = {step.epoch, next(step.step)};
  if (run_->set.test_rows == 0 || value(at.step) == 1)
    return {};
  // The last step before `at` ended an epoch whose evaluation nobody reported.
  uint64_t per_epoch = run_->book->steps_per_epoch();
  if ((value(at.step) - 1) % per_epoch != 0)
    return {};
  epoch_number ended{(value(at.step) - 1) / per_epoch};
  bool done = run_->test && run_->test->epoch >= ended;
  return done ? epoch_number{} : ended;
}

void coordinator_core::recovered(actions& out, instant now) {
  recovery_times how = *std::exchange(run_->recovery, std::nullopt);
  const generation_state& members = *run_->members;
  std::vector<std::string> names;
  for (worker_id who : members.workers)
    names.push_back(name_of(who));
  events::milliseconds whole = span(how.begun, now);
  run_->recoveries.emplace_back(describe(how.reason), whole.count());
  out.push_back(write_event{
      events::generation_begun{.number = members.number,
                               .step = next(members.commits.base()),
                               .workers = std::move(names),
                               .why =
                                   events::generation_begun::recovered{
                                       .reason = how.reason,
                                       .whole = whole,
                                       .detect = span(how.begun, how.fenced),
                                       .fence = span(how.fenced, how.acked),
                                       .plan = span(how.acked, how.placed),
                                       .open = span(how.placed, how.loaded),
                                       .sync = span(how.loaded, how.ready),
                                       .first_step = span(how.ready, now)},
                               .collective = members.collective}});
}

} // namespace ballast
