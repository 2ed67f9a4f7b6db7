/// How a run goes on after a failure: fence, decide, and the account of how
/// long that took.
///
///   bad sign -> fence every generation issued so far -> an answer from each
///   member, or its death -> base = the newest step that a living member holds
///   -> the next generation and a plan for it, journaled -> load, connect,
///   bring states to the base -> first step
///
/// Whatever fails on the way leads to another fence. Survivors keep process,
/// model and data all the time.
#include "runtime/coordinator/judging.hpp"
#include "runtime/coordinator/transitions.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace ballast::coordinator {

namespace {

events::milliseconds span(instant from, instant to) {
  return std::max(to - from, instant{0});
}

/// Whom a fence asks: all that may hold a state.
std::set<worker_id> to_ask(const coordinator_parts& p) {
  std::set<worker_id> out;
  auto add = [&](const std::vector<worker_id>& workers) {
    for (worker_id who : workers)
      if (p.nodes.connected(who))
        out.insert(who);
  };
  add(p.members.members()->workers);
  if (const membership_change* change = p.members.change())
    add(change->workers);
  // One that has left but is not released may be the last to hold a step.
  add(p.members.members()->leavers);
  return out;
}

} // namespace

void fence_all(coordinator_parts& p, recovery_reason why, instant bad_sign,
               instant now, worker_id lost) {
  recovery_times times{.reason = why, .begun = bad_sign};
  if (const recovery_times* before = p.members.recovery())
    times = *before;
  times.reason = why;
  times.first_hand = false;
  times.fenced = now;
  if (lost != worker_id{})
    times.lost = lost;
  const std::set<worker_id> asked = to_ask(p);
  pending_plans* pending = p.members.pending();
  fenced next{.members = std::move(*p.members.members()),
              .pending = pending ? std::move(*pending) : pending_plans{},
              .recovery = std::move(times),
              .held = fence(p.members.newest_generation(), asked, describe(why),
                            now, p.nodes.detector().ack_patience())};
  const bool answered = next.held.complete();
  p.members.become(std::move(next));
  p.out.expect(asked.size() + 1);
  const fence_order order = p.fence_now();
  for (worker_id who : asked)
    p.out.put(send_fence{who, order});
  p.out.put(write_workers{});
  if (answered)
    decide(p, now);
}

namespace {

/// A coordinator was away for long: the steps since then come in parts, and
/// commit as they would in a report.
void take_part_of_ack(coordinator_parts& p, fenced& s, const final_ack& ack,
                      instant now) {
  p.nodes.heard(ack.worker, now);
  if (s.members.holds(ack.worker))
    commit_all(p, s.members.commits.applied(s.members.rank_of(ack.worker),
                                            ack.records));
  else
    s.members.commits.note(ack.records);
  // A worker that goes on telling is not late.
  s.held.wait_until(now + p.nodes.detector().ack_patience());
  fence_order rest = p.fence_now();
  rest.known = std::max(rest.known, ack.records.back().step);
  p.out.put(send_fence{ack.worker, std::move(rest)});
}

} // namespace

template <>
void on(coordinator_parts& p, const final_ack& ack, instant now) {
  fenced* s = p.members.in<fenced>();
  if (!s || !p.nodes.connected(ack.worker))
    return;
  // The others get the usual time from here on.
  if (!p.run.delay.why().empty())
    s->held.wait_until(now + p.nodes.detector().ack_patience());
  if (ack.more && s->held.awaits(ack) && !ack.records.empty())
    return take_part_of_ack(p, *s, ack, now);
  if (ack.more || !s->held.take(ack))
    return;
  p.nodes.heard(ack.worker, now);
  const membership_change* change = p.members.change();
  const bool of_change = change && !s->members.holds(ack.worker);
  p.run.links.note_links(p.members, ack.worker,
                         of_change ? change->number : s->members.number,
                         ack.links);
  if (s->held.complete())
    decide(p, now);
}

bool all_answered(const fenced& s) {
  const auto answered = [&s](worker_id who) {
    return s.held.acks().contains(who);
  };
  auto all = [&](const std::vector<worker_id>& workers) {
    return std::all_of(workers.begin(), workers.end(), answered);
  };
  return all(s.members.workers) &&
         (!s.pending.change || all(s.pending.change->workers));
}

namespace {

/// The members of the next generation, and which of them holds what.
struct next_generation {
  std::vector<worker_id> workers;
  std::vector<worker_id> leavers; // may go once the others are ready
  std::set<worker_id> stale;
  std::set<worker_id> late;
  std::optional<uint32_t> source; // none: no worker holds the base
};

bool holds_state(const fence& held, worker_id who, step_number step) {
  auto found = held.acks().find(who);
  return found != held.acks().end() && found->second.holds_state &&
         found->second.step == step;
}

next_generation choose_members(coordinator_parts& p, const fenced& s,
                               step_number base) {
  next_generation out;
  const auto& acks = s.held.acks();
  for (worker_id who : s.members.workers)
    if (acks.contains(who))
      out.workers.push_back(who);
  const bool held_by_others =
      std::any_of(acks.begin(), acks.end(), [&](const auto& one) {
        return holds_state(s.held, one.first, base) &&
               !s.members.owes(one.first);
      });
  for (const auto& [who, ack] : acks) {
    if (s.members.holds(who) || !ack.holds_state)
      continue;
    // One that got its state in time joins; one that has left is only called
    // back if no other holds what it holds, or the others have no room.
    if (!s.members.owes(who) ||
        (!held_by_others && holds_state(s.held, who, base)) ||
        (p.members.shortage() && p.may_train(p.nodes.at(who))))
      out.workers.push_back(who);
    else
      out.leavers.push_back(who);
  }
  const uint32_t least = p.run.spec.elastic().min_workers;
  p.nodes.call_back(least, p.run.spec.name);
  if (out.workers.size() < least || p.members.shortage())
    for (const auto& [id, who] : p.nodes.all())
      if (p.may_train(who) && !acks.contains(id))
        out.workers.push_back(id);
  return out;
}

/// A worker one step behind is told of that step, if somebody still can, and
/// receives the whole state if not: who joined at the base knows nothing of it.
void find_holders(const fence& held, step_number base, next_generation& of) {
  std::optional<uint32_t> any;
  for (size_t rank = 0; rank < of.workers.size(); ++rank) {
    const worker_id who = of.workers[rank];
    auto found = held.acks().find(who);
    const bool holds = found != held.acks().end() && found->second.holds_state;
    if (!holds || next(found->second.step) < base)
      of.stale.insert(who);
    else if (found->second.step < base)
      of.late.insert(who);
    else if (!of.source && !found->second.lacks_last_step)
      of.source = uint32_t(rank);
    else if (!any)
      any = uint32_t(rank);
  }
  if (!of.source) {
    of.source = any;
    of.stale.merge(of.late);
    of.late.clear();
  }
  if (!of.source)
    of.stale.clear(); // before the first step
}

/// True if there are too few for a generation: the run waits or fails.
bool too_few(coordinator_parts& p, fenced& s, size_t workers) {
  const size_t min_workers = p.run.spec.elastic().min_workers;
  // To stop, those that are left are enough.
  if (workers >= (p.run.requests.stops() ? 1 : min_workers))
    return false;
  if (p.config.supervised && !p.staff.respawns()) {
    fail(p,
         {errc::worker_lost,
          "only " + std::to_string(workers) +
              " workers are left and no more are started, "
              "elastic.min_workers is " +
              std::to_string(min_workers) + ": " + describe(s.recovery.reason),
          {}});
    return true;
  }
  s.short_of_workers = true;
  p.say_waiting(std::to_string(workers) + " of at least " +
                std::to_string(min_workers) +
                " workers are here (elastic.min_workers): waits for more, " +
                describe(s.recovery.reason));
  return true; // the fence lasts; a hello, a loss and a stop come back here
}

/// In force, also where no step was committed under it yet: what those that
/// died were at.
void locate_deaths(coordinator_parts& p, const fenced& s, ledger::ledger at) {
  const ledger::plan& last = s.members.current;
  bool fits = last.number <= at.current().number || !at.switch_to(last);
  // Whether an offer was in force already cannot be told.
  fits = fits && !(s.pending.transfer && s.pending.transfer->sent);
  p.run.suspects.locate(fits ? std::optional(std::move(at)) : std::nullopt,
                        p.run.spec.job.train.epochs);
  p.run.suspects.judge(p.out, p.nodes, p.run.copies.newest().step());
}

/// Pending plans that took effect though no report said so; where the next
/// generation begins, under the plan in force.
std::optional<ledger::ledger>
settle_plans(coordinator_parts& p, fenced& s,
             const std::vector<ledger::committed_step>& inherited,
             step_number base) {
  if (!p.run.steps.book())
    return {}; // nothing was ever placed
  ledger::ledger at = p.run.steps.book_after(inherited);
  const plan_number now = at.current().number;
  if (s.pending.transfer && s.pending.transfer->offered.number == now)
    transfer_took_effect(p, base);
  if (s.pending.change && s.pending.change->offered.number == now)
    tell_switch(p, *s.pending.change, base);
  if (p.run.suspects.died_any())
    locate_deaths(p, s, at);
  return at;
}

/// What the dead had reported and what the living add to it: steps that all
/// members applied commit.
std::vector<ledger::step_record> hear_answers(coordinator_parts& p, fenced& s) {
  std::vector<ledger::step_record> out;
  for (const auto& [who, ack] : s.held.acks()) {
    out.insert(out.end(), ack.records.begin(), ack.records.end());
    if (s.members.holds(who))
      commit_all(
          p, s.members.commits.applied(s.members.rank_of(who), ack.records));
  }
  return out;
}

/// The newest step that a living worker holds. None: no answer vouches for what
/// was shown, and the run goes back, or waits for a reason.
std::optional<step_number> find_base(coordinator_parts& p, const fenced& s) {
  const bool silent = s.held.acks().empty();
  std::optional<step_number> base = s.held.base();
  if (!base && !silent && value(p.run.steps.last().step) == 0)
    base = step_number{0}; // the seed is the state
  if (!base && silent && p.run.steps.tally().samples == 0) {
    // No answer, and nothing is lost: from the seed again.
    go_back(p, describe(s.recovery.reason));
    return std::nullopt;
  }
  const step_number shown = s.members.commits.committed();
  if (base && *base >= shown)
    return base;
  if (!can_go_back(p) && !p.lost.open().empty())
    p.lost.end_with_reason(true);
  else
    go_back(p, "every worker that held the model of step " + to_string(shown) +
                   " is lost: " + describe(s.recovery.reason));
  return std::nullopt;
}

/// Order global: who may have computed which leaves of the step that broke off,
/// which is done again. Where nobody did, nothing is lost by asking.
std::map<worker_id, ledger::leaf_ranges> computed(const fenced& s,
                                                  ledger::ledger at) {
  std::map<worker_id, ledger::leaf_ranges> out;
  const ledger::plan& last = s.members.current;
  // In force, also where no step was committed under it yet.
  if (last.number > at.current().number && at.switch_to(last))
    return out;
  for (size_t rank = 0; rank < at.leaves().size(); ++rank)
    out[at.current().shares[rank].worker] = at.leaves()[rank];
  return out;
}

/// fenced -> opening.
void open_next(coordinator_parts& p, fenced& s, next_generation of,
               step_number base, instant now) {
  const step_number committed = s.members.commits.committed();
  const std::vector<ledger::committed_step> inherited =
      s.members.commits.waiting(base);
  if (value(committed) + inherited.size() != value(base))
    return fail(p, {errc::internal,
                    "the parameters contain steps up to " + to_string(base) +
                        ", but nobody can tell what all of them were",
                    {}});
  std::optional<ledger::ledger> start = settle_plans(p, s, inherited, base);
  ledger::plan before = start ? start->current() : ledger::plan{};
  std::map<worker_id, ledger::leaf_ranges> leaves;
  if (start && of.source)
    leaves = computed(s, *start);
  drop_transfer(p, describe(s.recovery.reason));
  recovery_times times = std::move(s.recovery);
  times.acked = now;
  if (p.run.links.generations().failures() == 0) // else it goes on
    p.run.delay.over();
  const size_t world = of.workers.size();
  generation_state members(p.members.next_generation(), of.workers,
                           ledger::commit_tracker(world,
                                                  s.members.commits.committed(),
                                                  base, inherited));
  members.leavers = std::move(of.leavers);
  members.from_seed = !of.source;
  members.stale = std::move(of.stale);
  members.late = std::move(of.late);
  members.source = of.source.value_or(0);
  p.members.next_plan();
  p.run.balance.begin_generation(world);
  p.members.become(opening{std::move(members), std::move(times),
                           std::move(start), std::move(leaves)});
  p.out.put(p.placing(of.workers, std::move(before)));
}

} // namespace

void decide(coordinator_parts& p, instant now) {
  fenced& s = *p.members.in<fenced>();
  p.run.links.judge_nccl(all_answered(s));
  if (judge_opening(p, now))
    return;
  const std::vector<ledger::step_record> reported = hear_answers(p, s);
  const std::optional<step_number> base = find_base(p, s);
  if (!base)
    return;
  for (const evaluation_report& one : s.held.evaluations())
    note_evaluation(p, one);
  next_generation next = choose_members(p, s, *base);
  if (too_few(p, s, next.workers.size()))
    return;
  if (p.run.links.generations().held() && !p.run.requests.stops())
    return; // the fence lasts; a tick comes back here
  find_holders(s.held, *base, next);
  s.members.commits.note(reported);
  open_next(p, s, std::move(next), *base, now);
}

void tell_recovered(coordinator_parts& p, instant now) {
  training& s = *p.members.in<training>();
  const recovery_times how = *std::exchange(s.recovery, std::nullopt);
  const events::milliseconds whole = span(how.begun, now);
  p.run.steps.recovered(describe(how.reason), whole.count());
  p.out.tell(
      events::generation_begun{.number = s.members.number,
                               .step = next(s.members.commits.base()),
                               .workers = p.names(s.members.workers),
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
                               .collective = s.members.collective});
}

} // namespace ballast::coordinator
