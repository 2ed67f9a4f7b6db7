/// What is promised of time: nothing is given up that somebody still has, and
/// nothing stands still without a word.
#include "tests/simulation/cluster_parts.hpp"

#include <algorithm>

namespace ballast::simulation {

using namespace std::chrono_literals;

/// Who has left, or was shown out before it heard of it, has no say any more.
static bool belongs(const std::string& name,
                    const std::vector<coordinator::past_membership>& all,
                    generation since) {
  return std::ranges::any_of(all, [&](const coordinator::past_membership& one) {
    return one.generation >= since &&
           std::ranges::find(one.names, name) != one.names.end();
  });
}

/// The run goes back only where none of its living members has what was shown,
/// and never behind a published checkpoint.
void cluster::check_undone(const coordinator::undo_steps& what) {
  const disk_state& disk = *disk_;
  for (const auto& [file, state] : disk.checkpoints)
    if (state.size() <= disk.steps.size() && state.size() > value(what.to))
      fail("the run goes back behind " + file + ": " + what.reason);
  if (!options_.nothing_avoidable || what.reason.ends_with("on request"))
    return;
  for (const auto& [process, who] : nodes_) {
    // Asked in vain for as long as was promised, or shown out: its own fault.
    bool reachable =
        who->alive && who->handle != worker_id{} &&
        who->frozen_until < now_ + 5s && who->up_cut_until < now_ + 5s &&
        who->down_cut_until < now_ + 5s &&
        (who->heard_at + 5s > now_ ||
         std::max({who->frozen_until, who->up_cut_until, who->down_cut_until}) <
             now_);
    if (!reachable || !belongs(who->name, disk.memberships, disk.settled))
      continue;
    if (!who->holds || who->applied.size() < disk.steps.size())
      continue;
    bool same = true;
    for (size_t i = value(what.to); i < disk.shown.size(); ++i)
      same = same && (!disk.shown[i] || disk.shown[i] == who->applied[i]);
    if (same)
      fail("steps up to " + std::to_string(disk.steps.size()) +
           " are undone, and " + who->name + " holds them: " + what.reason);
  }
}

/// Whoever waits longer than this is told why.
void cluster::check_waiting() {
  if (!core_ || !core_->members.active() ||
      core_->members.phase() == coordinator::run_phase::paused) {
    last_progress_ = now_;
    return;
  }
  // A process that stands still tells nothing.
  if (!options_.told_why || now_ - last_progress_ <= 12s)
    return;
  fail("for " + std::to_string((now_ - last_progress_) / 1ms) +
       " ms nothing has happened and nobody was told why; the run is " +
       to_string(core_->members.phase()));
}

} // namespace ballast::simulation
