/// Nodes that say hello, and their heartbeats.
#include "runtime/base/node_name.hpp"
#include "runtime/base/run_mark.hpp"
#include "runtime/coordinator/asking.hpp"
#include "runtime/coordinator/transitions.hpp"

namespace ballast::coordinator {

namespace {

/// It holds the state of a run that this coordinator knows nothing of: it is to
/// keep it, and to look for its own coordinator.
failure stranger(const coordinator_parts& p, const worker_hello& hello) {
  if (hello.run.empty() || hello.run_mark.empty() ||
      p.config.ended_runs.contains(hello.run_mark) ||
      (p.run.spec.name == hello.run &&
       run_mark(p.config.token, hello.run) == hello.run_mark))
    return {};
  return {errc::other_run,
          "worker " + hello.name + " is in the midst of run " + hello.run +
              ", which this coordinator does not lead: was it started with "
              "another --state folder? The worker keeps its state and looks "
              "on for its own coordinator",
          {}};
}

failure no_node_of_ours(const coordinator_parts& p, const worker_hello& hello) {
  if (hello.build_id != p.config.build_id)
    return {errc::other_build,
            "node " + hello.name + " is build " + hello.build_id +
                ", this coordinator is build " + p.config.build_id +
                ": only equal builds may join one cluster",
            {}};
  if (!is_node_name(hello.name))
    return {errc::usage, node_name_mistake(hello.name), {}};
  return stranger(p, hello);
}

failure name_is_taken(const node& other) {
  return {errc::name_taken,
          "a node named " + other.about.name + " is already here (pid " +
              std::to_string(other.about.pid) + " on " + other.about.host +
              "): start this one with another --name",
          {}};
}

/// Workers of an earlier life whose processes are here as others.
void lose_replaced(coordinator_parts& p, instant now) {
  const fenced* s = p.members.in<fenced>();
  if (!s)
    return;
  for (worker_id old : std::set(s->may_return)) {
    const fenced* still = p.members.in<fenced>();
    if (still && still->may_return.contains(old) && p.nodes.joined_anew(old))
      lose(p, {old, losses::joined_anew{}}, now);
  }
}

/// What a newcomer makes possible.
void go_on_with_newcomer(coordinator_parts& p, instant now) {
  form_generation(p);
  if (const fenced* s = p.members.in<fenced>(); s && s->held.complete()) {
    decide(p, now);
    return;
  }
  const opening* s = p.members.in<opening>();
  if (s && s->recovery && p.members.shortage() && !p.waits_for_memory())
    fence_all(p, s->recovery->reason, now, now);
}

} // namespace

hello_answer greet(coordinator_parts& p, const worker_hello& hello,
                   instant now) {
  if (failure why = no_node_of_ours(p, hello))
    return why;
  p.nodes.note_memory(hello);
  if (returns(p, hello)) {
    p.nodes.take_back(hello, now);
    return welcome_back(p, hello, now);
  }
  if (const node* other = p.nodes.find(hello.name))
    return name_is_taken(*other);
  p.staff.note_name(hello.name);
  p.members.given(hello.seen);
  const node& fresh =
      p.nodes.add(hello,
                  p.members.active() ? p.run.links.away_until(hello.name, now)
                                     : std::nullopt,
                  now);
  p.staff.joined(hello.name);
  const welcome accepted{fresh.id, fresh.incarnation, p.config.term,
                         uint32_t(p.config.heartbeat.count())};
  if (p.members.active()) {
    p.out.tell(events::worker_joined{process_of(fresh), hello.device});
    p.out.put(write_workers{});
  }
  lose_replaced(p, now);
  go_on_with_newcomer(p, now);
  return accepted;
}

void on(coordinator_parts& p, const heartbeat& beat, instant now) {
  if (!p.nodes.connected(beat.worker))
    return;
  p.nodes.beat(beat, now);
  if (p.members.active())
    p.lost.beat(beat, now);
  if (p.members.in<training>())
    p.run.reductions.heard(beat, now);
  p.devices.heard(beat.worker, beat.trouble, now);
}

void on(coordinator_parts& p, const leave_announced& what, instant now) {
  if (!p.nodes.connected(what.worker))
    return;
  p.nodes.ask_to_leave(what.worker, true);
  (void)ask(p, drain_request{p.nodes.name_of(what.worker)}, now);
}

} // namespace ballast::coordinator
