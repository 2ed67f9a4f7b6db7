/// The part of coordinator_core that keeps a run safe from those of its workers
/// that cannot take part: newcomers that fail, and workers between which
/// nothing goes. Such a worker is dismissed, and the others go on without it:
/// for good if the fault was its own, for a while if it was that of a link.
#include "runtime/coordinator/coordinator_core.hpp"

#include "runtime/coordinator/rank_names.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ballast {

namespace {

bool among(const std::vector<worker_id>& list, worker_id who) {
  return std::find(list.begin(), list.end(), who) != list.end();
}

/// `met`: they were connected before, so that the address is a good one.
std::string describe(const broken_link& what,
                     const std::map<worker_id, node>& nodes, bool met) {
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

} // namespace

bool coordinator_core::may_train(const node& who) const {
  return who.connected && !who.about.leaving && !who.held_back_until &&
         !(run_ && !who.about.not_for.empty() &&
           who.about.not_for == run_->name);
}

actions coordinator_core::on_leaving(worker_id who) {
  auto found = nodes_.find(who);
  if (found == nodes_.end() || !found->second.connected)
    return {};
  found->second.about.leaving = true;
  return drain(found->second.about.name).then;
}

/// It has not taken part in a committed step, others have: the job is sound.
bool coordinator_core::newcomer(worker_id who) const {
  return !proven_.contains(who) && run_->sound;
}

actions coordinator_core::dismiss(worker_id who, losses::dismissed why,
                                  instant now) {
  nodes_.at(who).about.not_for = run_->name;
  actions out = lose_for_good(who, why, now);
  show_out(out, who, describe(loss_cause(std::move(why))));
  return out;
}

/// A link of its was broken, which may be mended: it may join again, after a
/// wait that doubles each time.
actions coordinator_core::hold_back(worker_id who, const std::string& reason,
                                    instant now) {
  absence& away = run_->absent[nodes_.at(who).about.name];
  away.wait = away.wait.count() == 0
                  ? absence::wait_least
                  : std::min(2 * away.wait, absence::wait_most);
  away.until = now + away.wait;
  actions out = lose_for_good(who, losses::cut_off{reason}, now);
  show_out(out, who, {},
           reason + "; is taken in again in " +
               std::to_string(away.wait.count()) + " s at the earliest");
  return out;
}

void coordinator_core::let_back(instant now) {
  for (auto& [id, who] : nodes_)
    if (who.held_back_until && now >= *who.held_back_until)
      who.held_back_until.reset();
}

/// Where fewer than `least` are here, one whose link may be broken is better
/// than nobody.
void coordinator_core::call_back_absent(size_t least) {
  const auto here =
      std::count_if(nodes_.begin(), nodes_.end(),
                    [this](const auto& one) { return may_train(one.second); });
  if (size_t(here) < least)
    for (auto& [id, who] : nodes_)
      if (who.held_back_until != instant::max()) // it is on its way out
        who.held_back_until.reset();
}

void note_links(run& of, worker_id who, generation in,
                const std::vector<dead_link>& links) {
  const bool of_change = of.change && in == of.change->number;
  if (!of_change && (in != of.members->number || of.members->took_a_step))
    return;
  const std::vector<worker_id>& ranks =
      of_change ? of.change->workers : of.members->workers;
  opening_attempts& attempts = of_change ? of.joining : of.opening;
  for (const dead_link& one : links)
    if (one.rank >= 0 && size_t(one.rank) < ranks.size() &&
        ranks[size_t(one.rank)] != who)
      attempts.complain({who, ranks[size_t(one.rank)], one.address, one.why});
}

void note_unopened(run& of, const worker_failed& message,
                   const std::string& why) {
  const bool of_change = of.change && message.generation == of.change->number;
  if (!of_change &&
      (message.generation != of.members->number || of.members->took_a_step))
    return;
  note_links(of, message.worker, message.generation, message.links);
  opening_attempts& attempts = of_change ? of.joining : of.opening;
  if (message.own_trouble)
    attempts.lacks(message.worker, message.message);
  // "auto" tries without NCCL, at once. Behind a fence it is an echo, unless
  // the worker saw it itself.
  const bool first_hand = message.own_trouble || !message.links.empty();
  if (of.nccl_suspect.empty() && (!of.fenced || first_hand))
    attempts.suspect(why, first_hand);
}

/// Whom to go on without after attempts that failed in a row: the fewest
/// without whom no link is broken, else those who lack something of their own.
/// Nobody where too few would be left.
std::set<worker_id>
coordinator_core::unfit(const std::vector<broken_link>& found,
                        const std::map<worker_id, std::string>& unable,
                        bool of_change) const {
  const std::vector<worker_id>& members = run_->members->workers;
  const std::vector<worker_id>& ranks =
      of_change ? run_->change->workers : members;
  const std::map<worker_id, final_ack>& acks = run_->fenced->acks();
  auto holds = [&acks](worker_id who) {
    auto ack = acks.find(who);
    return ack != acks.end() && ack->second.holds_state;
  };
  const bool held = std::any_of(ranks.begin(), ranks.end(), holds);
  std::set<worker_id> spared;
  std::set<worker_id> unheard_of;
  for (worker_id who : ranks) {
    if (!proven_.contains(who))
      unheard_of.insert(who);
    else if (!held || holds(who))
      spared.insert(who);
  }
  std::vector<worker_id> cover =
      whom_to_dismiss(found, ranks, spared, unheard_of);
  std::set<worker_id> out(cover.begin(), cover.end());
  if (found.empty())
    for (const auto& [who, what] : unable)
      out.insert(who);
  if (found.empty() && of_change)
    for (worker_id who : ranks)
      if (!among(members, who))
        out.insert(who);
  auto left =
      std::count_if(members.begin(), members.end(),
                    [&out](worker_id who) { return !out.contains(who); });
  // To stop, one is enough, and any one will do.
  const uint32_t least = run_->asked.stop ? 1 : run_->what.elastic.min_workers;
  const bool enough = size_t(left) >= std::max<size_t>(1, least);
  if (run_->asked.stop && (out.empty() || !enough))
    return all_but_one(*run_->fenced, members);
  return enough ? out : std::set<worker_id>{};
}

/// What a worker says of ranks, said of their names.
std::string coordinator_core::in_words(const worker_failed& message) const {
  const std::vector<worker_id>& ranks =
      run_->change && message.generation == run_->change->number
          ? run_->change->workers
          : run_->members->workers;
  std::vector<std::string> names;
  for (worker_id who : ranks)
    names.push_back(name_of(who));
  return with_names(message.message, names);
}

/// Attempts that come to nothing last longer than anybody wants to wonder.
void coordinator_core::tell_slow_opening(actions& out, instant now) {
  if (!active() || !run_->members || run_->fenced)
    return;
  const generation_state& members = *run_->members;
  if (!members.connects_since ||
      now - *members.connects_since < links_told_wait ||
      members.ready.size() >= members.workers.size())
    return;
  std::string unready;
  std::string why;
  size_t links = 0;
  for (worker_id who : members.workers) {
    if (members.ready.contains(who))
      continue;
    const heartbeat& last = nodes_.at(who).last;
    unready += (unready.empty() ? "" : ", ") + name_of(who);
    if (last.generation != members.number)
      continue;
    for (const dead_link& one : last.silent)
      if (one.rank >= 0 && size_t(one.rank) < members.workers.size() &&
          ++links <= links_told_max)
        why += "; " + name_of(who) + " has no connection with " +
               name_of(members.workers[size_t(one.rank)]) +
               (one.address.empty() ? "" : " at " + one.address) + ": " +
               one.why;
  }
  if (links > links_told_max)
    why += "; and " + std::to_string(links - links_told_max) + " more";
  say_waiting(out, "these have not said that they are connected and have the "
                   "model: " +
                       unready + why);
}

/// Counts an attempt that failed though all are alive. After several the cause
/// is told, and the fewest workers are dismissed without whom no link is
/// broken. True if that was done: then the fence is decided already.
bool coordinator_core::judge_opening(actions& out, instant now) {
  const run& of = *run_;
  std::vector<worker_id> all = of.members->workers;
  if (of.change)
    all.insert(all.end(), of.change->workers.begin(), of.change->workers.end());
  bool answered = std::all_of(all.begin(), all.end(), [&of](worker_id who) {
    return of.fenced->acks().contains(who);
  });
  bool generation_failed = run_->opening.judge(answered, now);
  bool change_failed = run_->joining.judge(answered, now);
  opening_attempts& attempts = change_failed ? run_->joining : run_->opening;
  if ((!generation_failed && !change_failed) ||
      attempts.failures() < opening_attempts::told_after)
    return false;
  std::vector<worker_id> ranks =
      change_failed ? of.change->workers : of.members->workers;
  std::vector<broken_link> found = attempts.broken(ranks);
  std::map<worker_id, std::string> unable = attempts.unable(ranks);
  auto told = [this](const broken_link& one) {
    return describe(one, nodes_,
                    proven_.contains(one.from) && proven_.contains(one.about));
  };
  std::string message = "the workers cannot connect to each other though all "
                        "are alive: ";
  if (!found.empty()) {
    run_->cannot_open = told(found[0]);
  } else if (unable.empty()) {
    run_->cannot_open = attempts.reason();
  } else {
    const auto& [who, what] = *unable.begin();
    run_->cannot_open = describe_node(nodes_.at(who)) + " " + what;
    message.clear();
  }
  message += run_->cannot_open;
  if (attempts.to_tell()) {
    events::cannot_open told{attempts.failures(), attempts.wait(), message};
    if (!found.empty())
      told.broken = {name_of(found[0].from), name_of(found[0].about),
                     found[0].address};
    out.push_back(write_event{std::move(told)});
  }
  std::set<worker_id> gone = unfit(found, unable, change_failed);
  const std::chrono::seconds grace(run_->what.elastic.grace_s);
  if (gone.empty() && !unable.empty() && attempts.exceeds(grace)) {
    fail(out, {errc::collective_failed,
               run_->cannot_open + "; tried " +
                   std::to_string(attempts.failures()) + " times within " +
                   std::to_string(grace.count()) + " s (elastic.grace_s)",
               {}});
    return true;
  }
  if (gone.empty())
    return false;
  attempts.reset();
  // None of them in the generation that follows the first one's dismissal.
  for (worker_id who : gone) {
    nodes_.at(who).held_back_until = instant::max();
    run_->fenced->forget(who);
  }
  const std::string reason = run_->cannot_open;
  for (worker_id who : gone) {
    auto its = std::find_if(found.begin(), found.end(), [who](const auto& one) {
      return one.from == who || one.about == who;
    });
    actions more = its == found.end() ? dismiss(who, {errc::none, reason}, now)
                                      : hold_back(who, told(*its), now);
    out.insert(out.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  }
  return true;
}

} // namespace ballast
