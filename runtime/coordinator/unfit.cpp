/// How a run is kept safe from those of its workers that cannot take part:
/// newcomers that fail, and workers between which nothing goes. Such a worker
/// is dismissed, and the others go on without it: for good if the fault was its
/// own, for a while if it was that of a link.
#include "runtime/coordinator/dismissal.hpp"
#include "runtime/coordinator/transitions.hpp"

#include "runtime/coordinator/rank_names.hpp"

#include <algorithm>
#include <utility>

namespace ballast::coordinator {

namespace {

/// `met`: they were connected before, so that the address is a good one.
std::string describe(const broken_link& what, const roster& nodes, bool met) {
  const worker_hello& about = nodes.at(what.about).about;
  std::string out = describe_node(nodes.at(what.from));
  if (what.address.empty())
    return out + " gets no answer from worker " + about.name + " on " +
           about.host + ": " + what.why +
           "; look at the network between the two";
  out += " cannot reach worker " + about.name + " on " + about.host + " at " +
         what.address;
  if (met)
    return out + ": " + what.why + "; look at the network between the two";
  return out + ", the address that it announced (" + what.why + "): start " +
         about.name +
         " with --host ADDRESS, one at which the other nodes reach it";
}

/// All but the first that holds the newest state.
std::set<worker_id> all_but_one(const fence& held,
                                const std::vector<worker_id>& ranks) {
  auto holds_newest = [&](worker_id who) {
    auto found = held.acks().find(who);
    return found != held.acks().end() && found->second.holds_state &&
           found->second.step == held.base();
  };
  auto stays = std::find_if(ranks.begin(), ranks.end(), holds_newest);
  std::set<worker_id> out(ranks.begin(), ranks.end());
  out.erase(stays == ranks.end() ? ranks.front() : *stays);
  return out;
}

/// Who waits for an opening is told why after so long.
constexpr std::chrono::seconds links_told_wait{4};
/// Of more silent links than this a line says only how many.
constexpr size_t links_told_max = 3;

/// What an attempt that failed says of its workers.
struct failed_attempt {
  std::vector<worker_id> ranks;
  std::vector<broken_link> broken;
  std::map<worker_id, std::string> unable;
  bool of_change = false;
};

/// Without whom no link is broken: the fewest.
std::set<worker_id> cover_of(const coordinator_parts& p, const fence& held,
                             const failed_attempt& what) {
  auto holds = [&held](worker_id who) {
    auto ack = held.acks().find(who);
    return ack != held.acks().end() && ack->second.holds_state;
  };
  const bool any_holds =
      std::any_of(what.ranks.begin(), what.ranks.end(), holds);
  std::set<worker_id> spared;
  std::set<worker_id> unheard_of;
  for (worker_id who : what.ranks) {
    if (!p.nodes.proven(who))
      unheard_of.insert(who);
    else if (!any_holds || holds(who))
      spared.insert(who);
  }
  std::vector<worker_id> cover =
      whom_to_dismiss(what.broken, what.ranks, spared, unheard_of);
  return {cover.begin(), cover.end()};
}

/// Whom to go on without after attempts that failed in a row: the fewest
/// without whom no link is broken, else those that lack something of their own.
/// None where too few would be left.
std::set<worker_id> unfit(const coordinator_parts& p, const fenced& s,
                          const failed_attempt& what) {
  const std::vector<worker_id>& members = s.members.workers;
  std::set<worker_id> out = cover_of(p, s.held, what);
  if (what.broken.empty())
    for (const auto& [who, lacks] : what.unable)
      out.insert(who);
  if (what.broken.empty() && what.of_change)
    for (worker_id who : what.ranks)
      if (!s.members.holds(who))
        out.insert(who);
  auto left =
      std::count_if(members.begin(), members.end(),
                    [&out](worker_id who) { return !out.contains(who); });
  // To stop, one is enough, and any one will do.
  const bool stops = p.run.requests.stops();
  const uint32_t least = stops ? 1 : p.run.spec.elastic().min_workers;
  const bool enough = size_t(left) >= std::max<size_t>(1, least);
  if (stops && (out.empty() || !enough))
    return all_but_one(s.held, members);
  return enough ? out : std::set<worker_id>{};
}

std::string describe(const coordinator_parts& p, const broken_link& one) {
  return describe(one, p.nodes,
                  p.nodes.proven(one.from) && p.nodes.proven(one.about));
}

/// Why it failed, in the status; the event says it every so often.
void tell_failed_attempt(coordinator_parts& p, const opening_attempts& attempts,
                         const failed_attempt& what) {
  std::string message = "the workers cannot connect to each other though all "
                        "are alive: ";
  if (!what.broken.empty()) {
    p.run.links.explain(describe(p, what.broken[0]));
  } else if (what.unable.empty()) {
    p.run.links.explain(attempts.reason());
  } else {
    const auto& [who, lacks] = *what.unable.begin();
    p.run.links.explain(describe_node(p.nodes.at(who)) + " " + lacks);
    message.clear();
  }
  message += p.run.links.cannot_open();
  if (!attempts.to_tell())
    return;
  events::cannot_open told{attempts.failures(), attempts.wait(), message};
  if (!what.broken.empty())
    told.broken = {p.nodes.name_of(what.broken[0].from),
                   p.nodes.name_of(what.broken[0].about),
                   what.broken[0].address};
  p.out.tell(std::move(told));
}

/// For a while that doubles each time: a link of its was broken, which may be
/// mended.
void hold_back(coordinator_parts& p, worker_id who, const std::string& reason,
               instant now) {
  const std::chrono::seconds wait =
      p.run.links.stay_away(p.nodes.name_of(who), now).wait;
  lose(p, {who, losses::cut_off{reason}}, now);
  show_out(p, who, {},
           reason + "; is taken in again in " + std::to_string(wait.count()) +
               " s at the earliest");
}

void go_on_without(coordinator_parts& p, fenced& s,
                   const std::set<worker_id>& gone, const failed_attempt& what,
                   instant now) {
  // None of them in the generation that follows the first one's dismissal.
  for (worker_id who : gone) {
    p.nodes.hold_back(who, instant::max());
    s.held.forget(who);
  }
  const std::string reason = p.run.links.cannot_open();
  for (worker_id who : gone) {
    auto its = std::find_if(
        what.broken.begin(), what.broken.end(),
        [who](const auto& one) { return one.from == who || one.about == who; });
    if (its == what.broken.end())
      dismiss(p, who, {errc::none, reason}, now);
    else
      hold_back(p, who, describe(p, *its), now);
  }
}

} // namespace

void dismiss(coordinator_parts& p, worker_id who, losses::dismissed why,
             instant now) {
  p.nodes.dismiss(who, p.run.spec.name);
  lose(p, {who, why}, now);
  show_out(p, who, describe(loss_cause(std::move(why))));
}

/// After several attempts the cause is told, and the fewest workers are
/// dismissed without whom no link is broken.
bool judge_opening(coordinator_parts& p, instant now) {
  using verdict = connectivity::verdict;
  fenced& s = *p.members.in<fenced>();
  const verdict failed = p.run.links.judge(all_answered(s), now);
  const opening_attempts& attempts = p.run.links.of(failed);
  if (failed == verdict::none ||
      attempts.failures() < opening_attempts::told_after)
    return false;
  failed_attempt what;
  what.of_change = failed == verdict::change_failed;
  what.ranks = what.of_change ? s.pending.change->workers : s.members.workers;
  what.broken = attempts.broken(what.ranks);
  what.unable = attempts.unable(what.ranks);
  tell_failed_attempt(p, attempts, what);
  const std::set<worker_id> gone = unfit(p, s, what);
  const std::chrono::seconds grace(p.run.spec.elastic().grace_s);
  if (gone.empty() && !what.unable.empty() && attempts.exceeds(grace)) {
    fail(p, {errc::collective_failed,
             p.run.links.cannot_open() + "; tried " +
                 std::to_string(attempts.failures()) + " times within " +
                 std::to_string(grace.count()) + " s (elastic.grace_s)",
             {}});
    return true;
  }
  if (gone.empty())
    return false;
  p.run.links.begin_anew(failed);
  go_on_without(p, s, gone, what, now);
  return true;
}

void tell_slow_opening(coordinator_parts& p, instant now) {
  const generation_state* members = p.members.members();
  if (!p.members.active() || !members || p.members.in<fenced>() ||
      !members->connects_since ||
      now - *members->connects_since < links_told_wait || members->all_ready())
    return;
  std::string unready;
  std::string why;
  size_t links = 0;
  for (worker_id who : members->workers) {
    if (members->ready.contains(who))
      continue;
    const heartbeat& last = p.nodes.at(who).last;
    unready += (unready.empty() ? "" : ", ") + p.nodes.name_of(who);
    if (last.generation != members->number)
      continue;
    for (const dead_link& one : last.silent)
      if (one.rank >= 0 && size_t(one.rank) < members->workers.size() &&
          ++links <= links_told_max)
        why += "; " + p.nodes.name_of(who) + " has no connection with " +
               p.nodes.name_of(members->workers[size_t(one.rank)]) +
               (one.address.empty() ? "" : " at " + one.address) + ": " +
               one.why;
  }
  if (links > links_told_max)
    why += "; and " + std::to_string(links - links_told_max) + " more";
  p.say_waiting("these have not said that they are connected and have the "
                "model: " +
                unready + why);
}

namespace {

/// What a worker says of ranks, said of their names.
std::string in_words(const coordinator_parts& p, const worker_failed& message) {
  const membership_change* change = p.members.change();
  return with_names(message.message,
                    p.names(change && message.generation == change->number
                                ? change->workers
                                : p.members.members()->workers));
}

/// Usually the echo of a death that is still on its way here. A dead worker
/// will not answer the fence.
void collective_broke(coordinator_parts& p, const worker_failed& message,
                      instant now) {
  const std::string& name = p.nodes.name_of(message.worker);
  const std::string words = in_words(p, message);
  p.run.links.note_unopened(p.members, message, name + ": " + words);
  const recovery_reason why = recovery_reasons::collective_failed{name, words};
  const bool saw_it = !message.links.empty();
  if (fenced* s = p.members.in<fenced>()) {
    if (saw_it && s->recovery.lost == worker_id{} && !s->recovery.first_hand)
      s->recovery.reason = why; // the first word was of what came of it
  } else if (!p.members.in<finishing>()) {
    fence_all(p, why, now, now);
  }
  if (recovery_times* times = p.members.recovery(); times && saw_it)
    times->first_hand = true;
}

/// Ends the run, or costs the newcomer its place.
void worker_broke(coordinator_parts& p, const worker_failed& message,
                  instant now) {
  const node& who = p.nodes.at(message.worker);
  const std::string& file = p.run.copies.newest_on_disk().checkpoint;
  if (message.code == errc::non_finite_parameter && !file.empty())
    return fail(p, {message.code,
                    describe_node(who) + ": " + message.message +
                        "; the newest checkpoint is " + file,
                    {}});
  // It has not taken part in a committed step, others have: the job is sound.
  if (!p.nodes.proven(message.worker) && p.run.steps.sound()) {
    // Its own trouble: it costs the others a recovery at most.
    p.run.links.newcomer_failed(who.about.name + ": " + message.message, now);
    return dismiss(p, message.worker, {message.code, message.message}, now);
  }
  fail(p, {message.code, describe_node(who) + ": " + message.message, {}});
}

/// A worker found that the checkpoint that all begin with is not what was
/// saved: it is kept under another name, and the one before it is taken. False:
/// it is something else that failed.
bool pass_over(coordinator_parts& p, const worker_failed& message) {
  const generation_state* members = p.members.members();
  const step_number step = p.run.copies.newest().step();
  if (message.code != errc::invalid_data || value(step) == 0 ||
      message.step != step || !members || !members->from_checkpoint ||
      !p.members.in<opening>())
    return false;
  p.out.put(refuse_checkpoint{p.run.copies.drop_newest(), message.message});
  go_back(p, "worker " + p.nodes.name_of(message.worker) +
                 " cannot load the checkpoint of step " + to_string(step) +
                 ": " + message.message);
  return true;
}

/// Of a generation that it belongs to, or belonged to a moment ago.
bool may_report(const coordinator_parts& p, const worker_failed& message) {
  if (p.members.member(message.worker, message.generation))
    return true;
  if (!p.members.active() || !p.members.members())
    return false;
  const membership_change* change = p.members.change();
  const bool of_change = change && message.generation == change->number &&
                         p.nodes.all().contains(message.worker);
  // A switch that some have seen and others have not.
  const bool of_before = message.generation == p.members.members()->before &&
                         p.members.member(message.worker);
  return of_change || of_before;
}

} // namespace

template <>
void on(coordinator_parts& p, const worker_failed& message, instant now) {
  if (!may_report(p, message))
    return;
  if (value(message.step) > 0 && (message.code == errc::non_finite_loss ||
                                  message.code == errc::non_finite_gradient))
    return refuse_step(p, message, now);
  if (pass_over(p, message))
    return;
  if (message.code != errc::collective_failed)
    return worker_broke(p, message, now);
  p.run.links.suspect_nccl(p.members, p.run.spec.job, message,
                           p.nodes.name_of(message.worker));
  const generation_state& members = *p.members.members();
  if (message.lost_rank >= 0 && members.number == message.generation &&
      members.holds(message.worker) &&
      size_t(message.lost_rank) < members.workers.size()) {
    // The kernel told its peers; that its connection closed is on its way.
    const worker_id gone = members.workers[size_t(message.lost_rank)];
    if (!p.nodes.connected(gone))
      return;
    lose(p, {gone, losses::process_gone{}, false}, now);
    show_out(p, gone);
    return;
  }
  collective_broke(p, message, now);
}

} // namespace ballast::coordinator
