#include "runtime/coordinator/connectivity.hpp"

#include <algorithm>
#include <utility>

namespace ballast::coordinator {

void connectivity::note_links(const membership& of, worker_id who,
                              generation in,
                              const std::vector<dead_link>& links) {
  const membership_change* change = of.change();
  const bool of_change = change && in == change->number;
  const generation_state& members = *of.members();
  if (!of_change && (in != members.number || members.took_a_step))
    return;
  const std::vector<worker_id>& ranks =
      of_change ? change->workers : members.workers;
  opening_attempts& attempts = of_change ? changes_ : generations_;
  for (const dead_link& one : links)
    if (one.rank >= 0 && size_t(one.rank) < ranks.size() &&
        ranks[size_t(one.rank)] != who)
      attempts.complain({who, ranks[size_t(one.rank)], one.address, one.why});
}

void connectivity::note_unopened(const membership& of,
                                 const worker_failed& message,
                                 const std::string& why) {
  const membership_change* change = of.change();
  const bool of_change = change && message.generation == change->number;
  const generation_state& members = *of.members();
  if (!of_change &&
      (message.generation != members.number || members.took_a_step))
    return;
  note_links(of, message.worker, message.generation, message.links);
  opening_attempts& attempts = of_change ? changes_ : generations_;
  if (message.own_trouble)
    attempts.lacks(message.worker, message.message);
  // "auto" tries without NCCL, at once. Behind a fence it is an echo, unless
  // the worker saw it itself.
  const bool first_hand = message.own_trouble || !message.links.empty();
  if (nccl_suspect_.empty() && (!of.in<fenced>() || first_hand))
    attempts.suspect(why, first_hand);
}

connectivity::verdict connectivity::judge(bool all_answered, instant now) {
  const bool generation_failed = generations_.judge(all_answered, now);
  const bool change_failed = changes_.judge(all_answered, now);
  return change_failed       ? verdict::change_failed
         : generation_failed ? verdict::generation_failed
                             : verdict::none;
}

bool connectivity::tick(instant now) {
  changes_.tick(now);
  return generations_.tick(now);
}

bool connectivity::to_show() const {
  constexpr uint32_t told_after = opening_attempts::told_after;
  return generations_.failures() >= told_after ||
         changes_.failures() >= told_after;
}

void connectivity::suspect_nccl(const membership& of, const job& what,
                                const worker_failed& message,
                                const std::string& name) {
  const membership_change* change = of.change();
  const bool of_change = change && message.generation == change->number;
  const generation_state& members = *of.members();
  const collective_choice& how =
      of_change ? change->collective : members.collective;
  const bool took_a_step =
      !of_change && members.commits.committed() > members.commits.base();
  if (what.train.collective == collective_kind::automatic &&
      how.name == to_string(collective_kind::nccl) && !took_a_step &&
      message.lost_rank < 0)
    nccl_suspect_ = name + ": " + message.message;
}

void connectivity::judge_nccl(bool all_answered) {
  const std::string suspect = std::exchange(nccl_suspect_, {});
  if (!suspect.empty() && all_answered)
    nccl_failed_ = suspect;
}

const absence& connectivity::stay_away(const std::string& name, instant now) {
  absence& away = absent_[name];
  away.wait = away.wait.count() == 0
                  ? absence::wait_least
                  : std::min(2 * away.wait, absence::wait_most);
  away.until = now + away.wait;
  return away;
}

std::optional<instant> connectivity::away_until(const std::string& name,
                                                instant now) const {
  auto found = absent_.find(name);
  if (found == absent_.end() || now >= found->second.until)
    return std::nullopt;
  return found->second.until;
}

} // namespace ballast::coordinator
