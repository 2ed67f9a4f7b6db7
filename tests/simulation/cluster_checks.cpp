/// What must hold, whatever happened.
#include "tests/simulation/cluster_parts.hpp"

#include <algorithm>

namespace ballast::simulation {

void cluster::check_shown(const std::vector<committed_step>& steps) {
  for (const committed_step& step : steps) {
    if (value(step.step) != steps_.size() + 1)
      fail("step " + to_string(step.step) + " is shown after step " +
           std::to_string(steps_.size()));
    steps_.push_back(step);
    // Every living member of the current generation holds it.
    std::shared_ptr<const attempt> held;
    const generation_state& members = *core_->current()->members;
    for (worker_id who : members.workers)
      for (auto& [process, node] : nodes_) {
        // A fence may just have decided on the next generation, in which some
        // get what the members of the one before hold.
        if (node->id != who || !node->alive || !node->connected ||
            members.late.contains(who) || members.stale.contains(who))
          continue;
        if (!node->holds || node->applied.size() < steps_.size())
          fail("step " + to_string(step.step) + " is shown, but " + node->name +
               " does not hold it");
        auto mine = node->applied[steps_.size() - 1];
        if (held && held != mine)
          fail("two attempts at step " + to_string(step.step) +
               " are in the parameters of different workers");
        held = mine;
      }
    if (!held)
      continue;
    if (held->generation != step.generation || held->plan != step.plan)
      fail("step " + to_string(step.step) +
           " is shown with another generation or plan than it was applied in");
    shown_.resize(steps_.size());
    shown_.back() = held;
  }
}

/// What an audit will read tells the same as what was done.
void cluster::check_journal(const lineage& applied) {
  recorded_run run{rows(), {}};
  for (const auto& [number, one] : plans_)
    if (one.effective)
      run.plans.push_back({one.body, *one.effective});
  replay again(run);
  std::vector<std::vector<row_ref>> drawn;
  for (const auto& one : applied) {
    if (again.error())
      fail("the journal contradicts itself: " + *again.error());
    if (again.book().current().number != one->plan)
      fail("step " + to_string(one->at.step) + " was done under plan " +
           to_string(one->plan) + ", the journal says " +
           to_string(again.book().current().number));
    again.walk(drawn);
    if (drawn != one->rows)
      fail("step " + to_string(one->at.step) +
           " used other rows than the journal says");
  }
}

/// What is told of a device is what its heartbeats said.
void cluster::check_straggler(const nlohmann::ordered_json& told) {
  const std::string name = told["worker"];
  const node_state* who = nullptr;
  for (const auto& [process, one] : nodes_)
    if (one->name == name)
      who = one.get();
  if (!who)
    fail("a straggler nobody knows: " + name);
  const instant age = now_ - who->last_ill;
  if (told["over"] != (age >= stragglers::over_after))
    fail("the device of " + name + " was last ill " +
         std::to_string(age.count() / 1'000'000) +
         " ms ago, and is told of as " + told.dump());
  if (told["over"])
    ill_.erase(name);
  else
    outcome_.ailing += ill_.insert(name).second ? 1 : 0;
}

/// Whoever is ill was told of, in this life of the coordinator.
void cluster::check_stragglers() {
  if (!core_ || !core_->active())
    return;
  std::set<worker_id> standing;
  for (const stragglers::finding& one : core_->held_up().standing())
    standing.insert(one.who);
  for (const auto& [process, who] : nodes_) {
    if (!who->connected || !core_->nodes().contains(who->id) ||
        !core_->nodes().at(who->id).connected)
      continue; // after a crash of the coordinator its id may be another's
    if (!standing.contains(who->id) && who->heard_ill)
      fail(who->name + " is ill and forgotten");
    if (standing.contains(who->id) && !ill_.contains(who->name))
      fail(who->name + " is ill and nobody was told");
  }
}

void cluster::check_end() {
  if (outcome_.state != "done")
    return;
  check_told();
  uint64_t per_epoch =
      (options_.rows + options_.global_batch - 1) / options_.global_batch;
  if (steps_.size() != per_epoch * options_.epochs)
    fail("the run is done, but only " + std::to_string(steps_.size()) +
         " steps are shown");
  // Whoever is left holds the whole run; each epoch is exact.
  const node_state* last = nullptr;
  for (auto& [process, who] : nodes_)
    if (who->alive && who->connected && who->holds && who->core && !last &&
        who->applied.size() == steps_.size())
      last = who.get();
  if (!last)
    return;
  check_journal(last->applied);
  std::map<uint64_t, std::map<row_ref, int>> used;
  for (const auto& one : last->applied)
    for (const auto& part : one->rows)
      for (const row_ref& row : part)
        ++used[value(one->at.epoch)][row];
  for (size_t i = 0; i < shown_.size(); ++i)
    if (shown_[i] && shown_[i] != last->applied[i])
      fail("shown step " + std::to_string(i + 1) +
           " is not in the final parameters");
  if (used.size() != options_.epochs)
    fail(std::to_string(used.size()) + " epochs in the final parameters");
  for (auto& [epoch, counts] : used) {
    if (counts.size() != options_.rows)
      fail("epoch " + std::to_string(epoch) + " used " +
           std::to_string(counts.size()) + " rows of " +
           std::to_string(options_.rows));
    for (auto& [row, times] : counts)
      if (times != 1)
        fail("a row is used " + std::to_string(times) + " times in epoch " +
             std::to_string(epoch));
  }
}

} // namespace ballast::simulation
