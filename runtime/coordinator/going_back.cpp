/// Copies of the training state, and the way back to one: because no worker is
/// left that holds the newest state, or because all of them leave.
#include "runtime/coordinator/judging.hpp"
#include "runtime/coordinator/transitions.hpp"

#include <algorithm>
#include <utility>

namespace ballast::coordinator {

namespace {

/// The run ends, or all leave, or the state before a refused step is to be
/// looked at: what is in memory would be gone.
bool ends(const coordinator_parts& p) {
  return p.run.requests.halts() || p.run.suspects.refused() ||
         p.run.requests.all_leave();
}

bool owes_copy(const coordinator_parts& p) {
  return p.run.requests.owes_copy(p.run.copies.newest_on_disk().step());
}

/// The workers of the next generation copy no more often than it takes.
void use_disk_alone(coordinator_parts& p, const failure& why) {
  p.run.spec.job.checkpoint.memory_every_s = 0;
  p.out.tell(events::no_memory_checkpoints{why.message});
}

} // namespace

void consider_memory(coordinator_parts& p, uint64_t state_bytes) {
  if (state_bytes > 0 && p.run.spec.job.checkpoint.in_memory_every_s() > 0 &&
      p.run.copies.ask_for_memory(state_bytes))
    p.out.put(open_memory{state_bytes});
}

void try_memory_again(coordinator_parts& p, instant now) {
  if (!p.members.in<training>())
    return;
  if (const auto bytes = p.run.copies.ask_for_memory_again(now))
    p.out.put(open_memory{*bytes});
}

void on(coordinator_parts& p, const memory_opened& what, instant now) {
  using answer = checkpoints::memory_answer;
  checkpoint_spec& how = p.run.spec.job.checkpoint;
  if (!p.members.active())
    return;
  const answer found = p.run.copies.memory_answered(!what.problem, how, now);
  if (found == answer::again && !what.problem)
    how.memory_every_s = uint64_t(p.run.copies.memory_every().count());
  // That there is still no room is no news.
  if (found != answer::first || !what.problem)
    return;
  // A run that has begun is worth more than where its copies lie.
  if (how.memory_every_s && p.run.steps.last().step == step_number{})
    return fail(p, what.problem);
  use_disk_alone(p, what.problem);
}

void on(coordinator_parts& p, const memory_gone&, instant) {
  if (!p.members.active())
    return;
  for (std::string& file : p.run.copies.forget_memory())
    p.out.put(refuse_checkpoint{std::move(file), "somebody has removed it"});
}

void fetch_copy(coordinator_parts& p) {
  const generation_state* members = p.members.members();
  if (!members)
    return;
  const bool owes = owes_copy(p);
  const bool lost = p.run.copies.fetch(
      p.out, *members,
      {.committed = judged_up_to(p),
       .connected =
           members->all_loaded() &&
           std::all_of(members->workers.begin(), members->workers.end(),
                       [&](worker_id who) { return p.nodes.connected(who); }),
       .keep = p.run.spec.job.checkpoint.keep,
       .requested = p.run.requests.halts() || p.run.suspects.refused(),
       .to_disk = owes || ends(p),
       .enough =
           owes && !p.run.requests.owes_copy(p.run.copies.newest().step()),
       .now = std::max(p.ticked, instant{0})});
  if (lost)
    want_copy(p);
}

void want_copy(coordinator_parts& p) {
  p.run.copies.want();
  const generation_state* members = p.members.members();
  if (!members || p.members.in<fenced>() || !members->all_ready())
    return;
  // Rank 0 tells the others with a step. Who stands still hears of nobody.
  const training* s = p.members.in<training>();
  const bool still = p.run.requests.paused() || (s && s->paused);
  const size_t told = still ? members->workers.size() : 1;
  for (size_t rank = 0; rank < told; ++rank)
    p.out.put(send_command{members->workers[rank],
                           {p.config.term, members->number,
                            command_kind::checkpoint, "checkpoint"}});
}

template <>
void on(coordinator_parts& p, const state_copied& message, instant now) {
  if (!p.members.member(message.worker, message.generation) ||
      p.members.members()->rank_of(message.worker) != 0)
    return;
  p.run.copies.copied(message.step, message.generation, p.run.steps.here());
  p.run.cost.copied(message.step, now);
  fetch_copy(p);
}

namespace {

bool full(const failure& problem) {
  return problem.code == errc::disk_full;
}

/// Of the folder, and not of whoever has the state.
bool of_the_place(const failure& problem) {
  return full(problem) || problem.code == errc::run_dir_unusable;
}

} // namespace

void on(coordinator_parts& p, const checkpoint_written& what, instant now) {
  using written = checkpoints::written;
  if (!p.members.active())
    return; // of an earlier run
  const bool failed = bool(what.problem);
  const bool in_memory = p.run.copies.on_its_way_to_memory();
  const written how = p.run.copies.take(what.after, what.file, failed,
                                        p.run.spec.job.checkpoint.keep);
  if (how == written::strange)
    return;
  p.run.cost.saved(what.after.step, how == written::published, now);
  if (how == written::failed)
    p.out.tell(events::checkpoint_failed{what.after.step, what.problem});
  const bool no_memory = failed && in_memory && of_the_place(what.problem);
  if (no_memory) {
    p.run.copies.give_up_memory(now);
    use_disk_alone(p, what.problem);
  }
  if (how == written::published)
    p.run.suspects.checkpoint_written();
  // A part went with its worker, or the request was answered ok: soon again. A
  // full disk has been waited for.
  if ((how == written::failed || (failed && owes_copy(p))) &&
      !full(what.problem) && !no_memory)
    p.run.copies.try_again(now);
  fetch_copy(p);
  if (p.members.in<finishing>() && !p.run.copies.on_its_way())
    hand_over(p);
  conclude_refused(p, now);
}

bool can_go_back(const coordinator_parts& p) {
  return !p.config.supervised || p.staff.respawns() ||
         !connected(p.nodes).empty();
}

void go_back(coordinator_parts& p, std::string reason) {
  if (!can_go_back(p))
    return fail(p, {errc::worker_lost, std::move(reason), {}});
  p.run.suspects.nobody_survived();
  p.run.suspects.judge(p.out, p.nodes, p.run.copies.newest().step());
  drop_transfer(p, reason);
  const restart_point point = p.run.copies.newest();
  if (p.run.steps.last().step > point.step()) {
    p.out.put(undo_steps{point.step(), point.tally.last.epoch, reason});
    p.run.cost.went_back();
  }
  p.run.copies.forget_copies();
  p.run.steps.go_back(point);
  p.run.suspects.forget_refused();
  p.run.model.give_up_search();
  p.run.delay.over();
  p.run.requests.park(false);
  // Workers that are still there drop what they hold when they are assigned
  // anew.
  p.members.become(waiting{});
  if (p.run.requests.stops())
    return end_without_holders(p, reason);
  p.out.put(write_workers{});
  form_generation(p);
}

/// Most of the time that a process has for its end is left for a newcomer.
void part_from_all(coordinator_parts& p, instant now) {
  if (!p.members.active())
    return;
  requests& asked = p.run.requests;
  const training* s = p.members.in<training>();
  const bool all =
      s && !asked.stops() &&
      std::all_of(s->members.workers.begin(), s->members.workers.end(),
                  [&](worker_id who) { return p.nodes.leaving(who); });
  if (!all) {
    if (asked.all_leave() && s && !s->paused)
      p.run.delay.over();
    asked.all_leave_since({});
    return;
  }
  const auto& nodes = p.nodes.all();
  const bool one_comes =
      s->pending.change ||
      (!s->paused &&
       std::any_of(nodes.begin(), nodes.end(), [&](const auto& one) {
         return one.second.connected && !p.nodes.leaving(one.first) &&
                !s->members.holds(one.first);
       }));
  if (!asked.all_leave()) {
    asked.all_leave_since(now);
    want_copy(p);
    if (!one_comes)
      p.say_waiting("every worker is asked to leave: waits for another one "
                    "to take over");
  }
  auto patience = std::chrono::seconds(p.run.spec.elastic().grace_s) * 4 / 5;
  if (one_comes || asked.parks() || now - *asked.all_leave() < patience)
    return;
  asked.park(true);
  p.command_all(command_kind::stop, "every worker leaves");
}

/// The newest copy of their state is published, or is not to be had.
void park(coordinator_parts& p) {
  p.run.requests.park(false);
  p.run.requests.all_leave_since({});
  const restart_point& point = p.run.copies.newest_on_disk();
  const step_number last = p.run.steps.last().step;
  if (point.step() != last)
    return go_back(p, "every worker left, and the state after step " +
                          to_string(last) + " could not be written");
  drop_transfer(p, "every worker leaves");
  p.run.copies.forget_copies();
  p.run.steps.forget_plans();
  const std::vector<worker_id> workers = p.members.members()->workers;
  for (worker_id who : workers)
    if (p.nodes.connected(who) && p.nodes.leaving(who))
      let_go(p, who);
  p.members.become(waiting{});
  p.out.put(write_workers{});
  p.say_waiting("every worker has left; waits for one that goes on from " +
                point.checkpoint);
  form_generation(p);
}

} // namespace ballast::coordinator
