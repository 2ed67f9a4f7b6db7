/// The part of coordinator_core that keeps a run safe from those of its workers
/// that cannot take part: newcomers that fail, and workers that the others
/// cannot reach. Such a worker is dismissed: it takes no more part in this run,
/// and the others go on without it.
#include "runtime/coordinator_core.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ballast {

namespace {

bool among(const std::vector<worker_id>& list, worker_id who) {
  return std::find(list.begin(), list.end(), who) != list.end();
}

std::string describe(const unreachable_address& what,
                     const std::map<worker_id, node>& nodes) {
  const node& about = nodes.at(what.about);
  return describe_node(nodes.at(what.from)) + " cannot reach worker " +
         about.about.name + " on " + about.about.host + " at " + what.address +
         ", the address that it announced: start " + about.about.name +
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

} // namespace

bool coordinator_core::may_train(const node& who) const {
  return who.connected && !who.about.leaving &&
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

actions coordinator_core::dismiss(worker_id who, std::string reason,
                                  instant now) {
  nodes_.at(who).about.not_for = run_->name;
  actions out = lose_for_good(who, reason, now);
  show_out(out, who, std::move(reason));
  return out;
}

void note_unopened(run& of, const worker_failed& message,
                   const std::string& name) {
  bool of_change = of.change && message.generation == of.change->number;
  if (!of_change &&
      (message.generation != of.members->number || of.members->took_a_step))
    return;
  const std::vector<worker_id>& ranks =
      of_change ? of.change->workers : of.members->workers;
  opening_attempts& attempts = of_change ? of.joining : of.opening;
  if (message.unreachable_rank >= 0 &&
      size_t(message.unreachable_rank) < ranks.size())
    attempts.complain({message.worker, ranks[size_t(message.unreachable_rank)],
                       message.unreachable_address});
  if (message.own_trouble)
    attempts.lacks(message.worker, message.message);
  // "auto" tries without NCCL, at once. Behind a fence it is an echo.
  if (of.nccl_suspect.empty() && !of.fenced)
    attempts.suspect(name + ": " + message.message);
}

/// Whom to go on without after attempts that failed in a row: of those who
/// cannot reach each other the newcomers, else those who lack something of
/// their own. Nobody where too few would be left.
std::set<worker_id>
coordinator_core::unfit(const std::vector<unreachable_address>& found,
                        const std::map<worker_id, std::string>& unable,
                        bool of_change) const {
  const std::vector<worker_id>& members = run_->members->workers;
  std::set<worker_id> out;
  bool by_newcomers =
      !found.empty() && proven_.contains(found[0].about) &&
      std::none_of(found.begin(), found.end(),
                   [this](const auto& o) { return proven_.contains(o.from); });
  for (const unreachable_address& one : found)
    out.insert(by_newcomers ? one.from : one.about);
  if (found.empty())
    for (const auto& [who, what] : unable)
      out.insert(who);
  if (found.empty() && of_change)
    for (worker_id who : run_->change->workers)
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

/// Counts an attempt that failed though all are alive. After several the cause
/// is told, and the worker that most others cannot reach is dismissed. True if
/// that was done: then the fence is decided already.
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
  std::vector<unreachable_address> found = attempts.unreachable(ranks);
  std::map<worker_id, std::string> unable = attempts.unable(ranks);
  std::string message = "the workers cannot connect to each other though all "
                        "are alive: ";
  if (!found.empty()) {
    run_->cannot_open = describe(found[0], nodes_);
  } else if (unable.empty()) {
    run_->cannot_open = attempts.reason();
  } else {
    const auto& [who, what] = *unable.begin();
    run_->cannot_open = describe_node(nodes_.at(who)) + " " + what;
    message.clear();
  }
  message += run_->cannot_open;
  if (attempts.to_tell()) {
    nlohmann::ordered_json fields{{"attempts", attempts.failures()},
                                  {"retry_ms", attempts.wait().count()},
                                  {"message", message}};
    if (!found.empty())
      fields.update({{"worker", name_of(found[0].from)},
                     {"cannot_reach", name_of(found[0].about)},
                     {"address", found[0].address}});
    out.push_back(write_event{"cannot_open", std::move(fields)});
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
  std::string reason = run_->cannot_open;
  // None of them in the generation that follows the first one's dismissal.
  for (worker_id who : gone) {
    nodes_.at(who).about.not_for = run_->name;
    run_->fenced->forget(who);
  }
  for (worker_id who : gone) {
    actions more = dismiss(who, reason, now);
    out.insert(out.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  }
  return true;
}

} // namespace ballast
