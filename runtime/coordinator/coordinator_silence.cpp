/// The part of coordinator_core that judges silence: which workers are
/// suspected, what happens to those that do not answer a fence, and when the
/// silence is the coordinator's own.
#include "runtime/coordinator/coordinator_core.hpp"

#include <algorithm>
#include <iterator>

namespace ballast {

/// This process stood still (SIGSTOP, a disk that hangs, a laptop that slept):
/// what was sent meanwhile is still unread, so no deadline ran.
void coordinator_core::excuse_own_freeze(instant now) {
  instant gap = ticked_ ? now - *ticked_ : instant{0};
  ticked_ = now;
  if (config_.tick.count() == 0 || gap <= config_.tick + config_.heartbeat)
    return;
  instant away = gap - config_.tick;
  detector_.excuse(away, now);
  for (auto& [who, why] : unexplained_)
    why.since += away;
  if (!run_)
    return;
  run_->fence_deadline += away;
  run_->fence_begun += away;
  run_->returns_until += away;
  if (run_->refused)
    run_->refused->until += away;
}

void coordinator_core::judge_silence(actions& out, instant now) {
  auto append = [&out](actions more) {
    out.insert(out.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  };
  auto silence = [&](worker_id who, bool fenced = false) {
    return losses::silent{std::chrono::duration_cast<std::chrono::milliseconds>(
                              detector_.age(who, now)),
                          fenced};
  };
  for (worker_id who : detector_.suspects(now)) {
    bool joining = active() && run_->change &&
                   std::count(run_->change->workers.begin(),
                              run_->change->workers.end(), who) > 0;
    bool belongs = active() && run_->members &&
                   (member(who, run_->members->number) || joining);
    if (active() && run_->fenced && run_->fenced->awaited().contains(who))
      continue; // the fence has its own deadline
    instant patience = 2 * failure_detector::suspect_after * config_.heartbeat;
    // Whoever holds the final parameters may wake up and hand them out.
    if (belongs && phase() == run_phase::finishing)
      patience = std::max<instant>(
          patience, std::chrono::seconds(run_->what.elastic.grace_s));
    if (belongs && phase() != run_phase::finishing) {
      if (run_->fenced)
        continue;
      recover(out,
              recovery_reasons::worker_silent{nodes_.at(who).about.name,
                                              silence(who)},
              detector_.last_word(who), now, who);
    } else if (detector_.age(who, now) > patience) {
      append(exclude(who, silence(who), now));
    }
  }
  if (!active() || !run_->fenced || now <= run_->fence_deadline ||
      waits_for_holder(out, now))
    return;
  for (worker_id who : std::set(run_->fenced->awaited())) {
    loss_cause why = losses::not_returned{};
    if (!run_->may_return.contains(who))
      why = silence(who, true);
    append(exclude(who, why, now));
    if (!run_->fenced)
      break;
  }
}

/// A fence ends only with a fresh answer from a worker that holds the model as
/// it was shown. Without one the coordinator may be the one that is cut off:
/// it excludes and decides nothing, and asks again.
bool coordinator_core::waits_for_holder(actions& out, instant now) {
  const fence& held = *run_->fenced;
  step_number shown = run_->members->commits.committed();
  std::optional<step_number> base = held.base();
  if (base ? *base >= shown : value(shown) == 0 && !held.acks().empty())
    return false;
  if (run_->asked.stop && value(shown) == 0)
    return false; // nothing is lost
  instant until = std::max(
      run_->returns_until,
      run_->fence_begun + std::chrono::seconds(run_->what.elastic.grace_s));
  if (held.complete() || now >= until)
    return false;
  run_->fence_deadline = now + detector_.ack_patience();
  for (worker_id who : held.awaited())
    if (nodes_.at(who).connected)
      out.push_back(send_fence{who, run_->fence_now(config_.term)});
  std::string names;
  for (worker_id who : held.awaited())
    names += (names.empty() ? "" : ", ") + name_of(who);
  say_waiting(out, "no worker that holds the model of step " +
                       to_string(shown) + " answers: waits for " + names);
  return true;
}

/// In the status until training goes on, and once in events.jsonl.
void coordinator_core::say_waiting(actions& out, const std::string& why) {
  if (run_->waits == why)
    return;
  run_->waits = why;
  size_t here = 0;
  for (const auto& [id, who] : nodes_)
    here += who.connected ? 1 : 0;
  out.push_back(write_event{events::waiting{
      here, run_->what.elastic.min_workers, run_->last.step, why}});
}

} // namespace ballast
