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
