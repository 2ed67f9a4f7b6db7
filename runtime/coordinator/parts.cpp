#include "runtime/coordinator/parts.hpp"

#include <utility>

namespace ballast::coordinator {

std::vector<std::string>
coordinator_parts::names(const std::vector<worker_id>& of) const {
  std::vector<std::string> out;
  out.reserve(of.size());
  for (worker_id who : of)
    out.push_back(nodes.name_of(who));
  return out;
}

void coordinator_parts::command_all(command_kind kind,
                                    const std::string& reason) {
  const generation_state& all = *members.members();
  for (worker_id who : all.workers)
    if (nodes.connected(who))
      out.put(send_command{who, {config.term, all.number, kind, reason}});
}

void coordinator_parts::say_waiting(const std::string& why) {
  if (!run.delay.say(why))
    return;
  out.tell(events::waiting{connected(nodes).size(),
                           run.spec.elastic().min_workers,
                           run.steps.last().step, why});
}

bool coordinator_parts::waits_for_memory() const {
  const std::optional<memory_wait>& shortage = members.shortage();
  return shortage && shortage->leaving == nodes.leaving() &&
         shortage->here == connected(nodes);
}

balance::place_shares
coordinator_parts::placing(const std::vector<worker_id>& workers,
                           ledger::plan before) const {
  const host_shares hosts = nodes.shares(workers, staff.on_each_host());
  std::vector<uint64_t> limits;
  if (!run.spec.streams())
    limits = store_limits(nodes.all(), hosts, run.spec.memory_bytes(), workers);
  return {members.newest_generation(), members.newest_plan(), workers,
          std::move(before), std::move(limits)};
}

fence_order coordinator_parts::fence_now() const {
  const fence& held = members.in<fenced>()->held;
  const run_tally& tally = run.steps.tally();
  return {.term = config.term,
          .level = held.level(),
          .known = tally.last.step,
          .evaluated = tally.test ? tally.test->step : step_number{},
          .reason = held.reason()};
}

} // namespace ballast::coordinator
