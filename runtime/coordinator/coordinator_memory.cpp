/// The part of coordinator_core that knows how much each worker can hold, and
/// waits where the set does not fit.
#include "runtime/coordinator/coordinator_core.hpp"

#include <algorithm>
#include <utility>

namespace ballast {

namespace {

std::set<worker_id> connected(const std::map<worker_id, node>& nodes) {
  std::set<worker_id> out;
  for (const auto& [id, who] : nodes)
    if (who.connected)
      out.insert(id);
  return out;
}

} // namespace

/// Of the newest generation and plan.
place_shares coordinator_core::placing(const std::vector<worker_id>& of,
                                       plan before) const {
  // The workers of `run` share one machine, and those that died come back.
  const host_shares hosts(nodes_, memory_, of,
                          respawns() ? workers_wanted_ : 0);
  return {last_generation_, last_plan_, of, std::move(before),
          store_limits(nodes_, hosts, of)};
}

/// Nothing has changed since it was seen that not all of it fits.
bool coordinator_core::waits_for_memory() const {
  return run_->short_of_memory && run_->short_of_memory->leaving == leaving_ &&
         run_->short_of_memory->here == connected(nodes_);
}

/// Somebody came while it was found that the others have no room, or has left
/// and is still there.
bool coordinator_core::may_make_room() const {
  if (phase() != run_phase::recovering || run_->fenced ||
      !run_->short_of_memory || run_->asked.stop)
    return false;
  const generation_state& members = *run_->members;
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& one) {
    const bool has_left =
        std::find(members.leavers.begin(), members.leavers.end(), one.first) !=
        members.leavers.end();
    return may_train(one.second) && !member(one.first, members.number) &&
           (has_left || !leaving_.contains(one.first));
  });
}

actions coordinator_core::on_no_room(generation of, memory_need lacks) {
  if (!active() || run_->fenced)
    return {};
  const bool changing = run_->change && run_->change->number == of;
  const bool opening =
      run_->members && run_->members->number == of &&
      (phase() == run_phase::loading || phase() == run_phase::recovering);
  if (!changing && !opening)
    return {};
  const size_t workers =
      changing ? run_->change->workers.size() : run_->members->workers.size();
  const std::string why = std::to_string(workers) + " workers can hold " +
                          byte_text(lacks.free_bytes) + " more, " +
                          byte_text(lacks.lacking_bytes) +
                          " of the training data have no place";
  actions out;
  run_->short_of_memory = memory_wait{lacks, connected(nodes_), leaving_};
  if (opening && config_.supervised && !respawns() &&
      phase() == run_phase::recovering)
    return fail({errc::device_failed,
                 why + " and no more workers are started: " +
                     describe(run_->recovery->reason),
                 {}});
  if (opening && config_.supervised && phase() == run_phase::loading)
    return fail({errc::device_failed,
                 why + "; add memory (BALLAST_MEMORY_MB says how much a node "
                       "may count on) or start nodes on more machines",
                 {}});
  out.push_back(write_event{events::waiting_for_memory{
      workers, lacks,
      changing ? "the membership stays as it is: " + why
               : why + "; waits for another worker"}});
  if (changing) { // the present members train on
    run_->change.reset();
  } else if (phase() == run_phase::loading) {
    run_->members.reset();
    run_->phase = run_phase::waiting;
  }
  return out;
}

} // namespace ballast
