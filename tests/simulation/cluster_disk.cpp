// What outlives the coordinator: its journal and its files.
#include "tests/simulation/cluster_parts.hpp"

#include <algorithm>

namespace ballast::simulation {

/// What journal and files hold.
coordinator::past_run cluster::remembered() const {
  coordinator::past_run out;
  out.begun = what_;
  out.what = what_;
  out.name = "sim-" + std::to_string(run_number_);
  out.rows = options_.rows;
  out.memberships = disk_->memberships;
  for (const auto& [number, one] : disk_->plans)
    out.plans.push_back(one);
  out.steps = disk_->steps;
  for (const auto& [step, one] : disk_->evaluations)
    out.test = out.evaluations.emplace_back(one);
  out.undone = disk_->history > 0;
  out.asked = disk_->asked;
  for (const auto& [file, state] : disk_->checkpoints)
    if (state.size() <= disk_->steps.size())
      out.checkpoints.push_back(
          {disk_->identities.at(file), file, is_in_memory(file)});
  std::sort(out.checkpoints.begin(), out.checkpoints.end(),
            [](const auto& a, const auto& b) {
              return std::pair(a.holds.step, a.in_memory) <
                     std::pair(b.holds.step, b.in_memory);
            });
  if (options_.supervised) {
    out.alive.emplace();
    for (const auto& [process, who] : nodes_)
      if (who->alive)
        out.alive->insert(who->name);
  }
  return out;
}

void cluster::keep(const coordinator::journal_change& action) {
  if (!action.effective)
    ++outcome_.joins;
  if (action.generation <= disk_->journaled)
    fail("generation " + to_string(action.generation) + " after " +
         to_string(disk_->journaled));
  disk_->journaled = action.generation;
  disk_->changed_at = now_;
  last_progress_ = now_;
  if (action.effective)
    disk_->settled = action.generation;
  disk_->plans[action.what.number] = {action.what, action.effective,
                                      action.note, false};
  disk_->memberships.push_back(
      {action.generation, action.workers, action.names, action.incarnations});
  outcome_.generations = value(disk_->journaled);
  log([&] {
    return "generation " + to_string(action.generation) + " of " +
           std::to_string(action.workers.size()) +
           (action.effective ? " from step " + to_string(action.effective->step)
                             : " offered");
  });
}

void cluster::keep(const coordinator::journal_offer& action) {
  if (action.what.generation != disk_->journaled)
    fail("an offer for generation " + to_string(action.what.generation));
  disk_->plans[action.what.number] = {action.what, std::nullopt, action.note,
                                      false};
  log([&] { return "plan " + to_string(action.what.number) + " offered"; });
}

void cluster::keep(const coordinator::journal_effective& what) {
  coordinator::past_plan& one = disk_->plans.at(what.number);
  if (one.effective && *one.effective != what.from)
    fail("plan " + to_string(what.number) + " gets a second position");
  one.effective = what.from;
  if (one.body.generation != disk_->settled)
    disk_->changed_at = now_;
  disk_->settled = one.body.generation;
}

/// Of each plan it is told once how it ended: that it is in force, or dropped.
void cluster::keep(const coordinator::write_event& action) {
  if (std::holds_alternative<coordinator::events::waiting>(action.what) ||
      std::holds_alternative<coordinator::events::waiting_for_memory>(
          action.what) ||
      std::holds_alternative<coordinator::events::cannot_open>(action.what))
    last_progress_ = now_;
  judging{*this}.told(action.what);
  const auto* effective =
      std::get_if<coordinator::events::plan_effective>(&action.what);
  const auto* dropped =
      std::get_if<coordinator::events::plan_dropped>(&action.what);
  const auto* balanced =
      std::get_if<coordinator::events::balanced>(&action.what);
  if (!effective && !dropped && !balanced)
    return;
  const plan_number number = effective ? effective->plan
                             : dropped ? dropped->plan
                                       : balanced->what.plan;
  log([&] {
    return "plan " + to_string(number) + " is told: " +
           (effective ? "effective"
            : dropped ? "dropped"
                      : "balance");
  });
  auto& told = disk_->told;
  // Sizes that follow ever other speeds come before a rare class; and a copy
  // that failed is made once more.
  if (balanced || dropped)
    disk_->changed_at = now_;
  if (!dropped) {
    if (std::count(told.begin(), told.end(), number) > 0)
      fail("plan " + to_string(number) + " is told twice");
    told.push_back(number);
  }
  if (auto known = disk_->plans.find(number); known != disk_->plans.end())
    known->second.told = true;
}

void cluster::keep(const coordinator::undo_steps& what) {
  log([&] {
    return "back to step " + to_string(what.to) + ": " + what.reason;
  });
  check_undone(what);
  disk_state& disk = *disk_;
  ++disk.history;
  std::erase_if(disk.evaluations,
                [&](const auto& one) { return one.first >= what.to; });
  outcome_.undone += disk.steps.size() - value(what.to);
  disk.steps.resize(value(what.to));
  disk.steps_synced = std::min(disk.steps_synced, disk.steps.size());
  if (disk.shown.size() > disk.steps.size())
    disk.shown.resize(disk.steps.size());
  std::erase_if(disk.checkpoints, [&](const auto& one) {
    return one.second.size() > disk.steps.size();
  });
  last_progress_ = now_;
  if (user_->copy) // of a step that is gone; the event tells
    user_->copy = std::min(*user_->copy, what.to);
}

/// Fetched, written, renamed: the coordinator may die between any of these.
void cluster::publish(const coordinator::fetch_checkpoint& copy) {
  // Who has this rank's part of the state after that step, and answers.
  const auto part_of = [this, what = copy](size_t rank) -> const lineage* {
    for (const auto& [process, who] : nodes_)
      if (who->id == what.from[rank].who && who->alive &&
          now_ >= who->frozen_until && who->copy &&
          who->copy->size() == value(what.after.step) &&
          who->copy_rank == rank && who->copy_world == what.from.size())
        return &*who->copy;
    return nullptr;
  };
  const auto state = [this, part_of, what = copy]() -> const lineage* {
    const auto kept = disk_->checkpoints.find(what.file);
    if (what.from.empty())
      return kept == disk_->checkpoints.end() ? nullptr : &kept->second;
    for (size_t rank = 0; rank < what.from.size(); ++rank)
      if (!part_of(rank))
        return nullptr;
      else if (*part_of(rank) != *part_of(0))
        fail("the parts of a checkpoint are of different states");
    return part_of(0);
  };
  const auto best = [this, what = copy] {
    if (what.from.empty())
      return disk_->bests.at(what.file);
    std::optional<lineage> found;
    for (const auto& [process, who] : nodes_)
      for (const coordinator::state_holder& one : what.from) {
        if (who->id != one.who || !who->alive || !who->copy ||
            who->copy->size() != value(what.after.step))
          continue;
        if (found && *found != who->copy_best)
          fail("the parts of a checkpoint have other best parameters");
        found = who->copy_best;
      }
    return found.value_or(lineage{});
  };
  at_coordinator(some(1000, 60'000), [this, state, best, what = copy,
                                      history = disk_->history] {
    if (!state())
      return tell_core(coordinator::checkpoint_written{
          what.after, "", {errc::unreachable, "nobody answers", {}}});
    at_coordinator(some(100, 20'000), [this, what, history, held = *state(),
                                       kept = best()] {
      if (now_ < disk_->full_until)
        return tell_core(coordinator::checkpoint_written{
            what.after, "", {errc::disk_full, "the disk is full", {}}});
      if (history != disk_->history) // of steps that were undone meanwhile
        return tell_core(coordinator::checkpoint_written{
            what.after, "", {errc::stale_generation, "the run went back", {}}});
      const std::string file = disk_->keep(what, held);
      disk_->bests[file] = kept;
      log([&] { return "checkpoint " + file; });
      // Its name is there, and perhaps nobody hears of it.
      if (crash_soon_ && !quiet())
        return crash_coordinator();
      tell_core(coordinator::checkpoint_written{what.after, file, {}});
    });
  });
}

std::string cluster::disk_state::keep(const coordinator::fetch_checkpoint& what,
                                      const lineage& held) {
  if (what.in_memory)
    std::erase_if(checkpoints,
                  [](const auto& one) { return is_in_memory(one.first); });
  else
    steps_synced = std::max(
        steps_synced, std::min(steps.size(), size_t(value(what.after.step))));
  const std::string file =
      (what.in_memory ? "memory-" : "step-") + to_string(what.after.step);
  checkpoints[file] = held;
  identities[file] = what.after;
  return file;
}

void cluster::publish(const coordinator::fetch_model& asked) {
  at_coordinator(some(1000, 5000), [this, what = asked] {
    const node_state* last = nullptr;
    for (const coordinator::state_holder& asked_one : what.from) {
      const node_state* from = nullptr;
      for (auto& [process, who] : nodes_)
        if (who->id == asked_one.who && who->alive)
          from = who.get();
      if (from && now_ < from->frozen_until) // it has a while to answer
        return at_coordinator(from->frozen_until - now_,
                              [this, what] { publish(what); });
      if (!from || !from->holds)
        return tell_core(
            saved_model{{errc::unreachable, "nobody answers", {}}, {}, {}, {}});
      last = from;
    }
    if (options_.judged)
      judging{*this}.check_best(what.best, last->applied.size());
    if (last->best.size() != value(what.best))
      fail("the best model of " + last->name + " is that of step " +
           std::to_string(last->best.size()) + ", " + to_string(what.best) +
           " is fetched");
    publish_parameters(last->applied);
  });
}

/// As the shell does it: the model of a later step stays.
void cluster::publish_parameters(const lineage& state) {
  if (disk_->model && disk_->model->size() > state.size())
    return tell_core(saved_model{
        {}, {}, step_number{disk_->model->size()}, "an older one stays"});
  disk_->model = state;
  tell_core(saved_model{});
}

void cluster::publish(const coordinator::publish_model& asked) {
  at_coordinator(some(1000, 5000), [this, what = asked] {
    auto found = disk_->checkpoints.find(what.checkpoint);
    if (found == disk_->checkpoints.end())
      fail("the model is to come from " + what.checkpoint +
           ", which is not there");
    // Of an epoch's end it may be from before the evaluation, or after it.
    const size_t kept = disk_->bests.at(what.checkpoint).size();
    if (kept != value(what.best) && kept != found->second.size())
      fail("the best model in " + what.checkpoint + " is that of step " +
           std::to_string(kept) + ", not of " + to_string(what.best));
    publish_parameters(found->second);
  });
}

} // namespace ballast::simulation
