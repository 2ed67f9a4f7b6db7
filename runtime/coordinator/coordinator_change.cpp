/// The part of coordinator_core that changes the membership while training goes
/// on: make before break.
///
///   a node is here that does not train, or one is to leave -> the next
///   generation and its plan, journaled as offered -> everybody loads what it
///   needs and opens the next collective, beside the present one -> connected,
///   members contribute to the plan's lane -> the switch, which nobody here
///   decides -> the first member that says it is ready tells the step
///
/// Any failure meanwhile is an ordinary recovery: the fence stops both
/// generations.
#include "runtime/coordinator/coordinator_core.hpp"
#include "runtime/messages/packed_orders.hpp"

#include <algorithm>
#include <utility>

namespace ballast {

bool coordinator_core::may_change() const {
  return phase() == run_phase::training && !run_->fenced && !run_->change &&
         !(run_->transfer && run_->transfer->sent) && !run_->recovery &&
         !run_->asked.stop && !run_->parking &&
         run_->members->ready.size() == run_->members->workers.size() &&
         run_->members->finished.empty();
}

void coordinator_core::consider_change(actions& out) {
  if (!may_change() || waits_for_memory())
    return;
  const generation_state& members = *run_->members;
  uint32_t most = std::min(run_->what.elastic.max_workers,
                           workers_most_.value_or(UINT32_MAX));
  std::vector<worker_id> workers;
  for (worker_id who : members.workers)
    if (!leaving_.contains(who))
      workers.push_back(who);
  // The youngest leave first.
  while (workers.size() > most) {
    auto youngest = std::max_element(workers.begin(), workers.end());
    leaving_.insert(*youngest);
    workers.erase(youngest);
  }
  bool changed = workers.size() != members.workers.size();
  // Make before break: one that leaves hands its state to a newcomer first.
  if (workers.empty()) {
    workers.push_back(members.workers.front());
    changed = false;
    ++most;
  }
  for (const auto& [id, who] : nodes_)
    if (may_train(who) && !member(id, members.number) &&
        !leaving_.contains(id) && workers.size() < most &&
        !run_->joining.held()) {
      workers.push_back(id);
      changed = true;
    }
  // Near the end a newcomer would only be in the way.
  uint64_t total = run_->book->steps_per_epoch() * run_->what.train.epochs;
  if (!changed || value(members.commits.committed()) + 2 >= total)
    return;
  drop_transfer(out, "the membership changes");
  last_generation_ = next(last_generation_);
  last_plan_ = next(last_plan_);
  run_->change = membership_change{
      .number = last_generation_,
      .workers = workers,
      .collective = {},
      .offered = {},
      .shares = {},
      .addresses = std::vector<std::string>(workers.size()),
      .data_addresses = std::vector<std::string>(workers.size()),
      .applied = {}};
  out.push_back(placing(workers, members.current));
}

actions coordinator_core::on_change_placed(plan placed,
                                           std::vector<share_summary> shares) {
  membership_change& change = *run_->change;
  actions out;
  run_->short_of_memory.reset();
  change.offered = placed;
  change.shares = std::move(shares);
  change.collective = choose_collective(*run_, nodes_, change.workers);
  run_->plans[placed.number] = placed;
  run_->offered.insert(placed.number);
  out.push_back(journal(placed, change.workers, std::nullopt,
                        {"membership", change.shares, {}}));
  out.push_back(
      write_event{events::plan_offered{placed.number, change.number}});
  assignment alike;
  alike.generation = change.number;
  alike.first = {placed, pack(placed)};
  alike.beside = true;
  alike.collective = change.collective.name;
  send_assignments(out, change.workers, alike);
  return out;
}

actions coordinator_core::on_change_loaded(const worker_loaded& message) {
  membership_change& change = *run_->change;
  auto place =
      std::find(change.workers.begin(), change.workers.end(), message.worker);
  if (place == change.workers.end())
    return {};
  auto rank = size_t(place - change.workers.begin());
  change.addresses[rank] = message.collective_address;
  change.data_addresses[rank] = message.data_address;
  for (const std::string& address : change.addresses)
    if (address.empty())
      return {};
  connect_order order{.term = config_.term,
                      .generation = change.number,
                      .addresses = {change.addresses, pack(change.addresses)},
                      .stale = {},
                      .late = {},
                      .source = 0,
                      .evaluate = {},
                      .paused =
                          false}; // comes behind the switch, once all are ready
  std::optional<uint32_t> source;
  for (uint32_t i = 0; i < change.workers.size(); ++i) {
    if (!member(change.workers[i], run_->members->number))
      order.stale.push_back(i);
    else if (!source)
      source = i;
  }
  order.source = source.value_or(0);
  actions out;
  for (worker_id who : change.workers)
    out.push_back(send_connect{who, order});
  // Who leaves takes part in the lane, too.
  for (worker_id who : run_->members->workers)
    if (std::find(change.workers.begin(), change.workers.end(), who) ==
        change.workers.end())
      out.push_back(send_plan{who, {config_.term, change.offered}});
  return out;
}

void coordinator_core::switched(actions& out, step_number base) {
  membership_change change = *std::exchange(run_->change, std::nullopt);
  run_->joining.reset();
  generation_state& before = *run_->members;
  step_number committed = before.commits.committed();
  generation previous = before.number;
  tell_switch(out, change, next(base));
  std::vector<worker_id> left;
  // Nothing was fenced: all that is known stays true, also of later steps.
  std::map<worker_id, step_number> known = std::move(change.applied);
  for (size_t rank = 0; rank < before.workers.size(); ++rank) {
    worker_id who = before.workers[rank];
    if (std::find(change.workers.begin(), change.workers.end(), who) ==
        change.workers.end())
      left.push_back(who);
    else
      known[who] = before.commits.applied_by(rank);
  }
  open_generation(change.number, change.workers,
                  commit_tracker(change.workers.size(), committed, base,
                                 before.commits.waiting()));
  generation_state& members = *run_->members;
  members.before = previous;
  members.collective = std::move(change.collective);
  members.current = change.offered;
  members.shares = std::move(change.shares);
  members.addresses = std::move(change.addresses);
  members.data_addresses = std::move(change.data_addresses);
  members.leavers = left;
  for (auto [who, step] : known)
    commit_all(members.commits.holds(rank_of(who), step), out);
  if (run_->offered.erase(members.current.number) > 0)
    out.push_back(
        journal_effective{members.current.number, position_after(base)});
  out.push_back(write_workers{});
}

/// Once; also at a fence that some reached behind the switch, and by the next
/// coordinator.
void coordinator_core::tell_switch(actions& out, membership_change& change,
                                   step_number from) {
  if (std::exchange(change.told, true))
    return;
  std::vector<std::string> names;
  for (worker_id who : change.workers)
    names.push_back(name_of(who));
  const std::vector<worker_id>& before = run_->members->workers;
  bool leave = std::any_of(before.begin(), before.end(), [&](worker_id who) {
    return std::count(change.workers.begin(), change.workers.end(), who) == 0;
  });
  out.push_back(write_event{events::generation_begun{
      change.number, from, names, events::generation_begun::switched{leave},
      change.collective}});
  tell_plan(out, change.offered, {"membership", change.shares, {}}, from);
}

/// The others go on without them: nothing is owed any more.
void coordinator_core::release_leavers(actions& out) {
  generation_state& members = *run_->members;
  for (worker_id who : std::exchange(members.leavers, {}))
    if (nodes_.at(who).connected)
      let_go(out, who);
}

position coordinator_core::position_after(step_number base) const {
  uint64_t per_epoch = run_->book->steps_per_epoch();
  return {epoch_number{value(base) / per_epoch + 1}, next(base)};
}

} // namespace ballast
