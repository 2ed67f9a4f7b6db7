/// How the membership changes while training goes on: make before break.
///
///   a node is here that does not train, or one is to leave -> the next
///   generation and its plan, journaled as offered -> every worker loads what
///   it needs and opens the next collective, beside the present one ->
///   connected, members contribute to the plan's lane -> the switch, which
///   nothing here decides -> the first member that says it is ready tells the
///   step
///
/// Any failure meanwhile is an ordinary recovery: the fence stops both
/// generations.
#include "runtime/coordinator/transitions.hpp"

#include "runtime/messages/packed_orders.hpp"

#include <algorithm>
#include <utility>

namespace ballast::coordinator {

bool may_change(const coordinator_parts& p) {
  const training* s = p.members.in<training>();
  return s && !s->paused && !s->pending.change &&
         !(s->pending.transfer && s->pending.transfer->sent) && !s->recovery &&
         !p.run.requests.halts() && s->members.all_ready() &&
         s->members.finished.empty();
}

namespace {

/// The workers of the next generation; empty: nothing has to change.
std::vector<worker_id> next_workers(coordinator_parts& p,
                                    const generation_state& members) {
  uint32_t most = std::min(p.run.spec.elastic().max_workers, p.staff.most());
  std::vector<worker_id> workers;
  for (worker_id who : members.workers)
    if (!p.nodes.leaving(who))
      workers.push_back(who);
  // The youngest leave first.
  while (workers.size() > most) {
    auto youngest = std::max_element(workers.begin(), workers.end());
    p.nodes.ask_to_leave(*youngest);
    workers.erase(youngest);
  }
  bool changed = workers.size() != members.workers.size();
  // Make before break: one that leaves hands its state to a newcomer first.
  if (workers.empty()) {
    workers.push_back(members.workers.front());
    changed = false;
    ++most;
  }
  for (const auto& [id, who] : p.nodes.all())
    if (p.may_train(who) && !members.holds(id) && !p.nodes.leaving(id) &&
        workers.size() < most && !p.run.links.changes().held()) {
      workers.push_back(id);
      changed = true;
    }
  return changed ? workers : std::vector<worker_id>{};
}

} // namespace

/// Begins one, if there is a reason for it.
void consider_change(coordinator_parts& p) {
  if (!may_change(p) || p.waits_for_memory())
    return;
  training& s = *p.members.in<training>();
  const std::vector<worker_id> workers = next_workers(p, s.members);
  // Near the end a newcomer would only be in the way.
  const uint64_t total =
      p.run.steps.book()->steps_per_epoch() * p.run.spec.job.train.epochs;
  if (workers.empty() || value(s.members.commits.committed()) + 2 >= total)
    return;
  drop_transfer(p, "the membership changes");
  p.members.next_plan();
  s.pending.change = membership_change{
      .number = p.members.next_generation(),
      .workers = workers,
      .collective = {},
      .offered = {},
      .shares = {},
      .addresses = std::vector<std::string>(workers.size()),
      .data_addresses = std::vector<std::string>(workers.size()),
      .applied = {}};
  p.out.put(p.placing(workers, s.members.current));
}

void change_placed(coordinator_parts& p, membership_change& change,
                   shares_placed placed) {
  p.members.set_shortage({});
  change.offered = std::move(placed.what);
  change.shares = std::move(placed.shares);
  change.collective = choose_collective(p, change.workers);
  const ledger::plan& offered = change.offered;
  p.run.steps.offer(offered);
  p.out.put(journal_entry(p, offered, change.workers, std::nullopt,
                          {"membership", change.shares, {}}));
  p.out.tell(events::plan_offered{offered.number, change.number});
  assignment common;
  common.generation = change.number;
  common.first = {offered, pack(offered)};
  common.beside = true;
  common.collective = change.collective.name;
  send_assignments(p, change.workers, std::move(common));
}

void change_loaded(coordinator_parts& p, membership_change& change,
                   const worker_loaded& message) {
  auto place =
      std::find(change.workers.begin(), change.workers.end(), message.worker);
  if (place == change.workers.end())
    return;
  auto rank = size_t(place - change.workers.begin());
  change.addresses[rank] = message.collective_address;
  change.data_addresses[rank] = message.data_address;
  for (const std::string& address : change.addresses)
    if (address.empty())
      return;
  connect_order order{.term = p.config.term,
                      .generation = change.number,
                      .addresses = {change.addresses, pack(change.addresses)},
                      .stale = {},
                      .late = {},
                      .source = 0,
                      .evaluate = {},
                      .paused = false, // comes behind the switch, once all
                                       // are ready
                      .judged = {}};
  const generation_state& members = *p.members.members();
  std::optional<uint32_t> source;
  for (uint32_t i = 0; i < change.workers.size(); ++i) {
    if (!members.holds(change.workers[i]))
      order.stale.push_back(i);
    else if (!source)
      source = i;
  }
  order.source = source.value_or(0);
  for (worker_id who : change.workers)
    p.out.put(send_connect{who, order});
  // One that leaves takes part in the lane, too.
  for (worker_id who : members.workers)
    if (!change.holds(who))
      p.out.put(send_plan{who, {p.config.term, change.offered}});
}

void switched(coordinator_parts& p, step_number base) {
  training& s = *p.members.in<training>();
  membership_change change = *std::exchange(s.pending.change, std::nullopt);
  p.run.links.switched();
  const generation_state& before = s.members;
  tell_switch(p, change, next(base));
  std::vector<worker_id> left;
  // Nothing was fenced: all that is known stays true, also of later steps.
  std::map<worker_id, step_number> known = std::move(change.applied);
  for (size_t rank = 0; rank < before.workers.size(); ++rank) {
    worker_id who = before.workers[rank];
    if (change.holds(who))
      known[who] = before.commits.applied_by(rank);
    else
      left.push_back(who);
  }
  generation_state members(
      change.number, change.workers,
      ledger::commit_tracker(change.workers.size(), before.commits.committed(),
                             base, before.commits.waiting()));
  members.before = before.number;
  members.collective = std::move(change.collective);
  members.current = std::move(change.offered);
  members.shares = std::move(change.shares);
  members.addresses = std::move(change.addresses);
  members.data_addresses = std::move(change.data_addresses);
  members.loaded = change.workers.size();
  members.leavers = std::move(left);
  const plan_number in_force = members.current.number;
  p.run.balance.begin_generation(change.workers.size());
  s.members = std::move(members);
  for (auto [who, step] : known)
    commit_all(p, s.members.commits.holds(s.members.rank_of(who), step));
  if (p.run.steps.take_effect(in_force))
    p.out.put(journal_effective{in_force, p.run.steps.behind(base)});
  p.out.put(write_workers{});
}

void tell_switch(coordinator_parts& p, membership_change& change,
                 step_number from) {
  if (std::exchange(change.announced, true))
    return;
  const std::vector<worker_id>& before = p.members.members()->workers;
  bool leave = std::any_of(before.begin(), before.end(),
                           [&](worker_id who) { return !change.holds(who); });
  p.out.tell(events::generation_begun{
      change.number, from, p.names(change.workers),
      events::generation_begun::switched{leave}, change.collective});
  tell_plan(p, change.offered, {"membership", change.shares, {}}, from);
}

/// The others go on without them: nothing is owed any more.
void release_leavers(coordinator_parts& p) {
  for (worker_id who : std::exchange(p.members.members()->leavers, {}))
    if (p.nodes.connected(who))
      let_go(p, who);
}

} // namespace ballast::coordinator
