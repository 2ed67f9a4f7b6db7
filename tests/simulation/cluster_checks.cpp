/// What must hold, whatever happened.
#include "tests/simulation/cluster_parts.hpp"

#include "runtime/ledger/epoch_uses.hpp"
#include "runtime/ledger/replay.hpp"

#include <algorithm>

namespace ballast::simulation {
namespace {

/// All that the chunks have in an epoch, sorted.
std::vector<ledger::row_ref> expected_uses(const ledger::epoch_uses& uses,
                                           const ledger::manifest& set,
                                           uint64_t epoch) {
  std::vector<ledger::row_ref> out;
  for (const ledger::chunk_info& chunk : set.train)
    for (uint32_t row : uses.order(epoch_number{epoch}, chunk.id))
      out.push_back({chunk.id, row});
  std::sort(out.begin(), out.end());
  return out;
}

} // namespace

void cluster::check_shown(const std::vector<ledger::committed_step>& steps) {
  last_progress_ = now_;
  for (const ledger::committed_step& step : steps) {
    if (value(step.step) != disk_->steps.size() + 1)
      fail("step " + to_string(step.step) + " is shown after step " +
           std::to_string(disk_->steps.size()));
    disk_->steps.push_back(step);
    // Every living member of the current generation holds it.
    std::shared_ptr<const attempt> held;
    const coordinator::generation_state& members = *core_->members.members();
    for (worker_id who : members.workers)
      for (auto& [process, node] : nodes_) {
        // A fence may just have decided on the next generation, in which some
        // get what the members of the one before hold.
        if (node->handle != who || !node->alive || members.late.contains(who) ||
            members.stale.contains(who))
          continue;
        if (!node->holds || node->applied.size() < disk_->steps.size())
          fail("step " + to_string(step.step) + " is shown, but " + node->name +
               " does not hold it");
        auto mine = node->applied[disk_->steps.size() - 1];
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
    disk_->shown.resize(disk_->steps.size());
    disk_->shown.back() = held;
  }
}

/// What an audit will read tells the same as what was done.
void cluster::check_journal(const lineage& applied) {
  ledger::recorded_run run{rows(), {}};
  for (const auto& [number, one] : disk_->plans)
    if (one.effective)
      run.plans.push_back({one.body, *one.effective});
  ledger::replay again(run);
  std::vector<std::vector<ledger::row_ref>> drawn;
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

/// Of order global: step t has the positions [t B, (t + 1) B) of its epoch, one
/// rank's after another's, whoever was there: each in exactly one step.
void cluster::check_positions(const lineage& applied) {
  const ledger::ledger_config how = rows();
  const uint64_t all = row_count(how);
  uint64_t position = 0;
  epoch_number epoch{};
  std::optional<ledger::global_order> order;
  ledger::dealt_uses known;
  for (const auto& one : applied) {
    if (one->at.epoch != epoch) {
      if (order && position != all)
        fail("epoch " + to_string(epoch) + " ended at position " +
             std::to_string(position) + " of " + std::to_string(all));
      epoch = one->at.epoch;
      position = 0;
      order.emplace(how.seed, epoch, how.chunk_rows, how.window_chunks,
                    how.uses);
      known = {};
    }
    std::vector<ledger::row_ref> expected, found;
    const uint64_t count = std::min(how.global_batch, all - position);
    order->draw({position, count}, known, expected);
    position += count;
    for (const auto& part : one->rows)
      found.insert(found.end(), part.begin(), part.end());
    // Where leaves were kept, a rank's are not side by side.
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    if (found != expected)
      fail("step " + to_string(one->at.step) + " used " +
           std::to_string(found.size()) + " rows, which are not those of its " +
           std::to_string(count) + " positions");
  }
}

/// What is told of a device is what its heartbeats said.
void cluster::check_straggler(const coordinator::events::straggler& told) {
  const std::string& name = told.worker;
  const node_state* who = nullptr;
  for (const auto& [process, one] : nodes_)
    if (one->name == name)
      who = one.get();
  if (!who)
    fail("a straggler nobody knows: " + name);
  const instant age = now_ - who->last_ill;
  if (told.over != (age >= coordinator::stragglers::over_after))
    fail("the device of " + name + " was last ill " +
         std::to_string(age.count() / 1'000'000) +
         " ms ago, and is told of as " + (told.over ? "well" : "ill"));
  if (told.over)
    ill_.erase(name);
  else
    outcome_.ailing += ill_.insert(name).second ? 1 : 0;
}

/// Whoever is ill was told of, in this life of the coordinator.
void cluster::check_stragglers() {
  if (!core_ || !core_->members.active())
    return;
  std::set<worker_id> standing;
  for (const coordinator::stragglers::finding& one : core_->devices.standing())
    standing.insert(one.who);
  for (const auto& [process, who] : nodes_) {
    if (who->handle == worker_id{} || !core_->nodes.connected(who->handle))
      continue;
    if (!standing.contains(who->handle) && who->heard_ill)
      fail(who->name + " is ill and forgotten");
    if (standing.contains(who->handle) && !ill_.contains(who->name))
      fail(who->name + " is ill and nobody was told");
  }
}

/// Every plan under which a step was done is told of in the events.
void cluster::check_told() {
  std::set<plan_number> told(disk_->told.begin(), disk_->told.end());
  for (const ledger::committed_step& step : disk_->steps)
    if (!disk_->told_lost && !told.contains(step.plan))
      fail("step " + to_string(step.step) + " is shown under plan " +
           to_string(step.plan) + ", of which no event tells");
}

void cluster::check_end() {
  if (outcome_.state == "failed")
    return;
  check_told();
  uint64_t per_epoch =
      (options_.rows + options_.global_batch - 1) / options_.global_batch;
  bool done = outcome_.state == "done";
  if (done && disk_->steps.size() != judging{*this}.steps_to_do())
    fail("the run is done, but only " + std::to_string(disk_->steps.size()) +
         " steps are shown");
  if (done && !disk_->model)
    fail("the run is done without a model");
  if (!done && !disk_->steps.empty() && !disk_->model &&
      outcome_.reason.find("data were being prepared") == std::string::npos)
    fail("the run is stopped after step " +
         std::to_string(disk_->steps.size()) + " without a model");
  if (!disk_->model || disk_->model->size() != disk_->steps.size())
    return;
  const lineage& last = *disk_->model;
  check_journal(last);
  if (options_.leaves > 0)
    check_positions(last);
  std::map<uint64_t, std::vector<ledger::row_ref>> used;
  for (const auto& one : last)
    for (const auto& part : one->rows)
      used[value(one->at.epoch)].insert(used[value(one->at.epoch)].end(),
                                        part.begin(), part.end());
  for (size_t i = 0; i < disk_->shown.size(); ++i)
    if (disk_->shown[i] && disk_->shown[i] != last[i])
      fail("shown step " + std::to_string(i + 1) +
           " is not in the final parameters");
  const uint64_t steps = judging{*this}.steps_to_do();
  if (done && used.size() != (steps + per_epoch - 1) / per_epoch)
    fail(std::to_string(used.size()) + " epochs in the final parameters");
  for (auto& [epoch, drawn] : used) {
    std::sort(drawn.begin(), drawn.end());
    const auto expected = options_.uses
                              ? expected_uses(*options_.uses, set_, epoch)
                              : std::vector<ledger::row_ref>();
    if (options_.uses
            ? !std::includes(expected.begin(), expected.end(), drawn.begin(),
                             drawn.end())
            : std::adjacent_find(drawn.begin(), drawn.end()) != drawn.end())
      fail("a row is used too often in epoch " + std::to_string(epoch));
    if (epoch * per_epoch <= last.size() && drawn.size() != options_.rows)
      fail("epoch " + std::to_string(epoch) + " used " +
           std::to_string(drawn.size()) + " rows of " +
           std::to_string(options_.rows));
  }
}

} // namespace ballast::simulation
