/// The coordinator: who trains, in which generation, and when a run begins,
/// pauses, stops and ends. Events and `now` in, actions into the outbox; no
/// clock, no socket, no file. Owned by the coordinator's shell and used on its
/// thread. Requests and jobs are refused by a failure as the answer; events
/// that do not fit the state change nothing (docs/architecture.md has the
/// table).
///
/// This is only the door plate: the decisions are in transitions.hpp, the state
/// is in the parts, each a class of its own:
///
///   roster, staffing, losses    nodes, and what becomes of them
///   membership                  what a run is at, and with which workers
///   progress, checkpoints       what is committed, and what is on the disk
///   rebalance, connectivity     what moves, and what does not connect
///   requests, poison            what users ask for, what kills workers
#pragma once

#include "runtime/coordinator/asking.hpp"
#include "runtime/coordinator/events.hpp"
#include "runtime/coordinator/outbox.hpp"
#include "runtime/coordinator/parts.hpp"
#include "runtime/coordinator/past_run.hpp"
#include "runtime/coordinator/transitions.hpp"

#include <string>
#include <utility>
#include <variant>

namespace ballast {

class coordinator_core {
public:
  /// `to` outlives it.
  coordinator_core(coordinator_config config, outbox& to);

  // -- what happens
  /// A node introduces itself: it is taken in, or why not.
  std::variant<welcome, failure> hello(const worker_hello& hello, instant now);
  /// One of events.hpp: its type says what happened. Each has its function in
  /// transitions.hpp; one without does not compile.
  template <class Event>
  void take(Event what, instant now) {
    on(parts_, std::move(what), now);
  }
  /// Whichever of them a worker reports.
  void take(worker_report what, instant now);

  // -- jobs and requests; no failure: it is done
  /// `life`: the term that the run's journal gave. A second job is refused.
  failure submit(const job& what, const std::string& run_name,
                 ballast::term life);
  /// An earlier life of a coordinator began this run.
  failure resume(past_run past, ballast::term life, std::string token = {});
  /// One of coordinator_request.
  template <class Request>
  failure ask(const Request& what, instant now) {
    return ballast::ask(parts_, what, now);
  }

  // -- what it knows
  const coordinator_config& config() const { return parts_.config; }
  const roster& nodes() const { return parts_.nodes; }
  const membership& members() const { return parts_.members; }
  const stragglers& devices() const { return parts_.devices; }
  /// The parts of the newest run; without a name before the first one.
  const run_state& run() const { return parts_.run; }
  /// A run is under way: another job is refused.
  bool active() const { return parts_.members.active(); }
  run_phase phase() const { return parts_.members.phase(); }
  std::string name_of(worker_id who) const { return parts_.nodes.name_of(who); }

private:
  coordinator_parts parts_;
};

} // namespace ballast
