/// Every message within the coordinator's process: what its HTTP server, its
/// supervisor, its threads, the coordinator and the shard manager say to each
/// other. None of these types can be written to a connection, so no other
/// process can send one. What crosses processes is in protocol.hpp.
///
///   HTTP server, supervisor --submit, control, status ...--> coordinator
///   threads of the coordinator --saved, written ...-->       coordinator
///   coordinator --prepare, place, observe ...-->             shard manager
///   shard manager --plan on, observe ...-->                  planner
#pragma once

#include "actors/preparing_messages.hpp"
#include "runtime/balance/chunk_labels.hpp"
#include "runtime/balance/load.hpp"
#include "runtime/balance/place_shares.hpp"
#include "runtime/balance/policy.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/lineage.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/messages/control_reply.hpp"
#include "runtime/messages/control_request.hpp"
#include "runtime/messages/loss_cause.hpp"
#include "store/work_watch.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

namespace ballast::actors {

// -- to the coordinator -------------------------------------------------------

struct submit_job {
  job what;
  std::string folder; // of its run; empty: it chooses one
};
/// Go on with the run in this folder, which an earlier coordinator led.
struct resume_run {
  std::string folder;
  std::optional<job> what = {}; // none: as it was
  /// Names of workers that may still live; none: nobody knows.
  std::optional<std::set<std::string>> alive = {};
  bool again = false; // a user asked for it, no coordinator died
};
struct status_query {};
/// The supervisor saw the process of this node end, and how.
struct process_exited {
  std::string name;
  process_end how;
};
/// Ctrl-C or SIGTERM reached the supervisor.
struct stop_signal {};
/// A checkpoint is published in this file, or why it is not.
struct checkpoint_saved {
  ledger::checkpoint_identity after;
  std::string file;
  failure problem;
};
/// Something outside the core failed, like a disk.
struct run_trouble {
  failure why;
};
/// Audit and report of the ended run are written.
struct report_written {
  int exit_code = 0;
  std::string report; // JSON
};
struct coordinator_tick {}; // runs the failure detector

// -- to the shard manager -----------------------------------------------------

/// From now on: are rows moved, and which skew is good enough.
struct set_balance {
  bool enabled = true;
  double skew_tv = 0;
};
/// What the planner plans for from now on.
struct plan_on {
  std::shared_ptr<const ledger::manifest> set;
  std::shared_ptr<const balance::chunk_labels> labels; // of the set
  balance::balance_policy policy;
};
/// The load of a run. Asked to stop, the planner decides nothing.
struct load_look {
  balance::load_view view;
  std::stop_token stop;
};
/// Serve this state (served_checkpoint.hpp); empty: none.
struct serve_file {
  std::string path;
};
struct drop_set {}; // the run is over: stop serving its data
/// The thread that prepared set `number` is at its end; empty: it is ready.
struct preparation_ended {
  uint64_t number = 0;
  failure problem;
};
/// Is the thread that prepares set `number` getting on?
struct preparation_tick {
  uint64_t number = 0;
};

} // namespace ballast::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::actors::submit_job)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::actors::resume_run)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::control_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::control_reply)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::actors::status_query)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::status_shown)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::actors::process_exited)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::actors::stop_signal)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::saved_model)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::actors::checkpoint_saved)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::actors::run_trouble)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::actors::report_written)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::actors::coordinator_tick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::balance::place_shares)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::placed_shares)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::balance::load_view)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::balance::balance_answer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::actors::set_balance)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::plan_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::explain_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::actors::plan_on)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::actors::load_look)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::balance::balance_policy)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::actors::serve_file)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::actors::drop_set)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::actors::preparation_ended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ballast::actors::preparation_tick)

namespace ballast::actors {

/// How long a plan, or a look at the load, may take: seconds for 1,024 workers.
constexpr std::chrono::minutes planning_deadline{2};
/// As long as the set is large; without progress the answer comes much sooner.
constexpr std::chrono::minutes preparing_deadline{24 * 60};

/// PLANNER: says what should move. Only the shard manager asks it.
using planner_actor =
    caf::typed_actor<caf::reacts_to<plan_on>,
                     caf::replies_to<load_look>::with<balance::balance_answer>,
                     caf::replies_to<plan_request>::with<control_reply>,
                     caf::replies_to<explain_request>::with<control_reply>,
                     caf::reacts_to<balance::balance_policy>,
                     caf::reacts_to<drop_set>>;

/// SHARD MANAGER: knows the data set; decides who owns which interval.
using shard_manager_actor = caf::typed_actor<
    // Errors: invalid_data, disk_full. Takes seconds when nothing is cached.
    caf::replies_to<prepare_set>::with<set_prepared>,
    // A plan for these workers, with each share's counts: the first one, or
    // what follows from the plan before; or what does not fit.
    caf::replies_to<balance::place_shares>::with<placed_shares>,
    // The load of a run: what is to be said of it, and what should change.
    caf::replies_to<balance::load_view>::with<balance::balance_answer>,
    // Questions of users. Refused as: bad_request, unknown_worker.
    caf::replies_to<plan_request>::with<control_reply>,
    caf::replies_to<explain_request>::with<control_reply>,
    caf::reacts_to<set_balance>, caf::reacts_to<serve_file>,
    caf::reacts_to<drop_set>,
    // Who helps to prepare a set, and what came of it.
    caf::reacts_to<fragment_helper>, caf::reacts_to<fragment_ready>,
    // INTERNAL
    caf::reacts_to<preparation_ended>, caf::reacts_to<preparation_tick>>;

/// COORDINATOR, as its own process sees it: beside what workers may say.
using local_coordinator_actor = coordinator_actor::extend<
    // Both reply with the run's name. Errors: busy, run_dir_*, invalid_job,
    // other_build, disk_full.
    caf::replies_to<submit_job>::with<std::string>,
    caf::replies_to<resume_run>::with<std::string>,
    // A control message. Answered once what it asks for is journaled.
    caf::replies_to<control_request>::with<control_reply>,
    // GET /v1/status. Answered at once.
    caf::replies_to<status_query>::with<status_shown>,
    caf::reacts_to<process_exited>, caf::reacts_to<stop_signal>,
    // INTERNAL: from its threads, and from itself.
    caf::reacts_to<saved_model>, caf::reacts_to<checkpoint_saved>,
    caf::reacts_to<run_trouble>, caf::reacts_to<report_written>,
    caf::reacts_to<coordinator_tick>>;

} // namespace ballast::actors
