/// What users ask of a run: pause, resume, stop, scale, drain, and faults on
/// purpose. Each holds from now on, whatever the run is at.
#include "runtime/coordinator/asking.hpp"

#include "runtime/coordinator/transitions.hpp"

#include <algorithm>
#include <utility>

namespace ballast::coordinator {

namespace {

/// A line of events.jsonl stays one that people read.
constexpr size_t note_bytes_max = 500;

/// Nothing of the kind can be meant now.
failure nothing_to(const char* do_what, const coordinator_parts& p) {
  const bool stops = p.members.active() && p.run.requests.stops();
  return {errc::bad_request,
          std::string("nothing to ") + do_what + ": the run is " +
              (stops ? "being stopped" : ballast::to_string(p.members.phase())),
          {}};
}

failure no_such(const coordinator_parts& p, const std::string& name) {
  std::string here;
  for (const auto& [id, who] : p.nodes.all())
    if (who.connected)
      here += (here.empty() ? "" : ", ") + who.about.name;
  return {errc::unknown_worker,
          "no worker named " + name + " is here; " +
              (here.empty() ? "there is none" : "there are: " + here),
          "/worker"};
}

/// Under way, and not at its end.
bool goes_on(const coordinator_parts& p) {
  return p.members.active() && p.members.phase() != run_phase::finishing;
}

} // namespace

/// Generations that are not ready yet learn it when they are.
failure ask(coordinator_parts& p, const pause_request&, instant) {
  if (!goes_on(p) || p.run.requests.stops())
    return nothing_to("pause", p);
  if (p.run.requests.pause(p.out) && p.members.phase() == run_phase::training)
    p.command_all(command_kind::pause, "pause");
  return {};
}

/// Withdraws a pause, also one that is not complete yet.
failure ask(coordinator_parts& p, const resume_request&, instant) {
  if (!goes_on(p) || !p.run.requests.paused() || p.run.requests.stops())
    return nothing_to("resume", p);
  p.run.requests.resume(p.out);
  // Workers that already agreed on a pause stand still all the same; once all
  // of them do, worker_paused lets them go on.
  if (training* s = p.members.in<training>()) {
    const bool complete = std::exchange(s->paused, false);
    if (complete)
      s->members.paused.clear();
    p.command_all(complete ? command_kind::resume : command_kind::unpause,
                  "resume");
  }
  p.out.tell(events::resumed{p.run.steps.last().step});
  return {};
}

failure ask(coordinator_parts& p, const checkpoint_request&, instant) {
  switch (p.members.phase()) {
  case run_phase::loading:
  case run_phase::training:
  case run_phase::paused:
  case run_phase::recovering:
    break;
  default:
    return {errc::bad_request,
            "nothing to copy: the run is " +
                ballast::to_string(p.members.phase()),
            {}};
  }
  p.run.copies.asked();
  p.run.requests.copy(p.out, p.run.steps.last().step);
  fetch_copy(p); // of what is in memory, if nothing came since
  want_copy(p);
  return {};
}

namespace {

/// Data are read for as long as they are large. Only living workers of an
/// earlier life hold something that would be lost: they are heard first.
void stop_preparing(coordinator_parts& p, const preparing& s) {
  if (s.past && !(s.past->alive && s.past->alive->empty()))
    return;
  // The journal lags behind what was shown, where that life was killed.
  if (s.past && !s.past->steps.empty() &&
      s.past->steps.back().step > s.past->committed)
    p.out.put(
        journal_commit{s.past->steps.back().step, s.past->steps.back().epoch});
  finish(p, run_phase::stopped, p.run.requests.stop_code(),
         s.past ? "stopped while the data were being prepared; its "
                  "steps, checkpoints and model are kept, and "
                  "`ballast run --resume` goes on with it"
                : "stopped before the first step");
}

/// Its workers load their first data, which may take long, or never end; none
/// of them can have taken a step.
bool loads_for_the_first_time(const opening& s) {
  return s.members.from_seed && !s.recovery && !s.members.connects_since;
}

} // namespace

failure ask(coordinator_parts& p, const note_request& what, instant) {
  if (!p.members.active())
    return nothing_to("note", p);
  if (what.text.empty() || what.text.size() > note_bytes_max)
    return {errc::bad_request,
            "/text: expected 1 to " + std::to_string(note_bytes_max) +
                " characters, found " + std::to_string(what.text.size()),
            "/text"};
  p.out.tell(events::noted{what.text});
  return {};
}

failure ask(coordinator_parts& p, const stop_run& what, instant) {
  if (!p.members.active())
    return nothing_to("stop", p);
  p.run.requests.stop(p.out, what.by_signal);
  if (p.members.in<waiting>())
    end_without_holders(p, "");
  else if (p.members.in<training>())
    p.command_all(command_kind::stop, "stop");
  else if (const preparing* s = p.members.in<preparing>())
    stop_preparing(p, *s);
  else if (const opening* s = p.members.in<opening>();
           s && loads_for_the_first_time(*s))
    finish(p, run_phase::stopped, p.run.requests.stop_code(),
           "stopped before the first step");
  else if (p.members.phase() == run_phase::finishing)
    p.run.requests.park(false); // then it ends here
  return {}; // of an opening, of a fence: taken up when that is done
}

failure ask(coordinator_parts& p, const drain_request& what, instant) {
  const node* who = p.nodes.find(what.worker);
  if (!who)
    return no_such(p, what.worker);
  if (!goes_on(p))
    return nothing_to("leave", p);
  const worker_id id = who->id;
  if (!p.members.member(id) && !p.members.leaver(id) &&
      !p.members.joining(id) && !p.members.in_fence(id)) {
    let_go(p, id); // it has no part in the run
    p.out.put(write_workers{});
    return {};
  }
  p.nodes.ask_to_leave(id);
  p.run.requests.forget_leaving(
      [&](worker_id one) { return !p.nodes.connected(one); });
  p.run.requests.leave(p.out, id);
  consider_change(p);
  return {};
}

failure ask(coordinator_parts& p, const evict_request& what, instant now) {
  const node* who = p.nodes.find(what.worker);
  if (!who)
    return no_such(p, what.worker);
  exclude(p, {who->id, losses::evicted{}}, now);
  return {};
}

failure ask(coordinator_parts& p, const scale_request& what, instant) {
  if (!goes_on(p) || !p.members.members())
    return nothing_to("scale", p);
  const elastic_spec& how = p.run.spec.elastic();
  if (!p.config.supervised)
    return {errc::bad_request,
            "nobody here can start workers: start or drain nodes by hand",
            {}};
  if (what.workers < how.min_workers || what.workers > how.max_workers)
    return {errc::bad_request,
            "/workers: expected " + std::to_string(how.min_workers) + " to " +
                std::to_string(how.max_workers) + ", found " +
                std::to_string(what.workers),
            "/workers"};
  p.staff.scale(uint32_t(what.workers));
  p.run.requests.scale(p.out, p.run.spec.job, uint32_t(what.workers));
  p.out.tell(events::scaled{what.workers});
  consider_change(p);
  return {};
}

failure ask(coordinator_parts& p, const balance_request& what, instant) {
  if (!p.members.active())
    return {errc::bad_request, "no run trains here", {}};
  if (!what.enabled && !what.skew_tv)
    return {
        errc::bad_request, "set_balance: give \"enabled\" or \"skew_tv\"", {}};
  if (what.skew_tv && !(*what.skew_tv >= 0 && *what.skew_tv <= 1))
    return {errc::bad_request, "/skew_tv: expected 0 to 1", "/skew_tv"};
  const job& of = p.run.spec.job;
  balance_spec how = p.run.requests.standing().balance_of(of);
  how.enabled = what.enabled.value_or(how.enabled);
  how.skew_tv = what.skew_tv.value_or(how.skew_tv);
  p.run.requests.balance(p.out, of, how);
  p.out.put(apply_balance{how});
  p.out.tell(events::balance_set{how.enabled, how.skew_tv});
  return {};
}

namespace {

/// Of the amount of a fault: the key that says it, and what it may be.
struct fault_range {
  const char* key;
  double least;
  double most;
};

std::optional<fault_range> range_of(command_kind how) {
  switch (how) {
  case command_kind::stall:
    return fault_range{"seconds", 0, 600};
  case command_kind::slow:
    return fault_range{"factor", 1, 1000};
  case command_kind::damage:
    return fault_range{"chunks", 0, 1'000'000};
  case command_kind::flip:
    return fault_range{"leaves", 0, 1'000'000};
  default:
    return std::nullopt;
  }
}

failure out_of_range(const injected_fault& what) {
  auto range = range_of(what.kind);
  if (!range || (what.amount >= range->least && what.amount <= range->most))
    return {};
  std::string pointer = std::string("/") + range->key;
  return {errc::bad_request,
          pointer + ": expected " + std::to_string(int64_t(range->least)) +
              " to " + std::to_string(int64_t(range->most)),
          pointer};
}

} // namespace

failure ask(coordinator_parts& p, const injected_fault& what, instant) {
  if (!p.members.active() || !p.run.spec.job.faults)
    return {errc::bad_request,
            "faults on purpose need a running job with \"faults\": true",
            {}};
  if (failure wrong = out_of_range(what))
    return wrong;
  const node* who = p.nodes.find(what.worker);
  if (!who)
    return no_such(p, what.worker);
  command order{p.config.term, p.members.newest_generation(), what.kind,
                "on purpose"};
  if (what.kind == command_kind::stall)
    order.seconds = what.amount;
  else if (what.kind == command_kind::slow)
    order.factor = what.amount;
  else if (what.kind == command_kind::damage)
    order.chunks = uint64_t(what.amount);
  else if (what.kind == command_kind::flip)
    order.leaves = uint64_t(what.amount);
  p.out.put(send_command{who->id, std::move(order)});
  p.out.tell(events::fault_injected{what.worker, what.kind, what.amount});
  return {};
}

} // namespace ballast::coordinator
