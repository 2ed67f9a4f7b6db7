/// Everything that a run tells the world, one struct for each kind of line in
/// events.jsonl: what happened, as ids, numbers and names. Plain data without
/// JSON. monitor/logs/event_text.hpp writes the lines and their sentences,
/// monitor/metrics counts them.
///
/// A new kind is a struct here, or in file_event.hpp, and its line in
/// event_text.cpp.
#pragma once

#include "runtime/balance/plan_note.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/coordinator/collective_choice.hpp"
#include "runtime/coordinator/file_event.hpp"
#include "runtime/coordinator/recovery_times.hpp"
#include "runtime/coordinator/straggler.hpp"
#include "runtime/coordinator/worker_shares.hpp"
#include "runtime/messages/loss_cause.hpp"
#include "runtime/messages/messages.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ballast::coordinator::events {

// -- the run -----------------------------------------------------------------

struct coordinator_started {
  struct takeover { // of a run that an earlier coordinator led
    step_number step{};
    step_number checkpoint{};
  };
  ballast::term term{};
  std::string run;
  std::string build;
  std::optional<takeover> resumed = {};
};
/// The run goes on by itself only once something comes.
struct waiting {
  size_t workers = 0; // connected
  uint32_t min_workers = 0;
  step_number step{};
  std::string reason;
};
/// The data do not fit into these workers.
struct waiting_for_memory {
  size_t workers = 0;
  memory_need lacks;
  std::string reason;
};
/// They never do, so each keeps what it uses next.
struct window_chosen {
  uint32_t window_chunks = 0;
  memory_need lacks;
};
/// Of order global: a step has no leaf for these workers.
struct spares {
  std::vector<std::string> workers;
  uint32_t leaves = 0;
};
struct paused {
  step_number step{};
};
struct resumed {
  step_number step{};
  bool by_takeover = false; // a user resumed a run that ended while it paused
};
struct scaled {
  uint64_t workers = 0;
};
struct balance_set {
  bool enabled = false;
  double skew_tv = 0;
};
struct fault_injected {
  std::string worker;
  command_kind what{};
  double amount = 0;
};
/// What a user wants to find again in the history of the run.
struct noted {
  std::string text;
};
struct epoch_ended {
  epoch_number epoch{};
  step_number step{};
  uint64_t samples = 0;
  double train_loss = 0;
};
struct evaluated {
  epoch_number epoch{};
  step_number step{};
  double loss = 0;
  uint64_t rows = 0;
  milliseconds took{};
  std::optional<double> accuracy = {}; // of classes
  shared_list<metrics::metric_value> values = {};
  bool best = false; // so far, by keep.best or stop
};
/// The job's `stop` ends the run before its last epoch.
struct ends_early {
  epoch_number epoch{};
  step_number step{};
  std::string reason;
};
/// Committed steps that count no more.
struct undone {
  step_number from{}; // the last of them
  step_number to{};   // the run goes on behind this one
  std::string reason;
};
/// What ended the run, or is wrong with it.
struct error {
  failure why;
};
/// Nobody may apply this step: `samples` by worker.
struct step_refused {
  failure why;
  step_number step{};
  std::vector<std::pair<std::string, std::vector<uint64_t>>> samples;
};
/// Too many workers died before their first step.
struct respawn_ended {
  size_t deaths = 0;
  uint32_t window_s = 0;
  std::string last; // of them
};
/// After the wait. Of a worker: it waited to write its trace.
struct disk_full {
  milliseconds took{};
  std::string worker = {};
  std::optional<std::string> message = {};
};
struct done {
  std::string state;
  uint64_t steps = 0;
  std::string reason = {};
};

// -- workers -----------------------------------------------------------------

struct worker_process {
  std::string worker;
  uint32_t incarnation = 0;
  uint32_t pid = 0;
  std::string host;
};
struct worker_joined : worker_process {
  std::string device;
};
struct worker_returned : worker_process {};
struct worker_left : worker_process {};
struct worker_lost {
  std::string worker;
  uint32_t incarnation = 0;
  struct place {
    uint32_t pid = 0;
    std::string host;
  };
  std::optional<place> process = {}; // unknown of one of an earlier life
  loss_cause cause;
  /// With it went what it had left out of compressed gradients.
  bool unsent_lost = false;
};
/// News of a device in trouble.
/// A newcomer has the training state of the others.
struct state_received {
  std::string worker;
  ballast::generation generation{};
  uint64_t bytes = 0;
  milliseconds took{};
};
struct straggler {
  std::string worker;
  std::string device;
  std::string host;
  stragglers::finding what;
  bool over = false;
  std::chrono::nanoseconds lasted{}; // meant only where it is over
};
struct cannot_open {
  struct link {
    std::string worker;
    std::string cannot_reach;
    std::string address;
  };
  uint32_t attempts = 0;
  std::chrono::milliseconds retry{};
  std::string message;
  std::optional<link> broken = {};
};

// -- generations and plans ---------------------------------------------------

/// A generation is in force from `step` on.
struct generation_begun {
  struct first {};
  struct from_checkpoint {
    step_number of{};
  };
  struct switched {
    bool leave = false; // somebody left; else somebody joined
  };
  struct recovered {
    recovery_reason reason;
    milliseconds whole{};
    milliseconds detect{}, fence{}, plan{}, open{}, sync{}, first_step{};
  };
  ballast::generation number{};
  step_number step{};
  std::vector<std::string> workers; // by rank
  std::variant<first, from_checkpoint, switched, recovered> why;
  collective_choice collective;
};
struct plan_offered {
  plan_number plan{};
  ballast::generation generation{};
};
struct plan_effective {
  plan_number plan{};
  ballast::generation generation{};
  step_number step{};
  std::string reason;
  std::vector<worker_share> shares; // by rank
};
struct plan_dropped {
  plan_number plan{};
  ballast::generation generation{};
  std::string reason;
};
/// A plan that the shard manager wanted is in force.
struct balanced {
  plan_effective what;
  balance::plan_note::of_balance balance;
  uint64_t moved_rows_total = 0;
  uint64_t bound_rows_total = 0;
};
/// All chunks of an offered plan are where it wants them.
struct moved {
  plan_number plan{};
  uint64_t rows = 0;
  size_t chunks = 0;
  uint64_t bytes = 0;
  uint64_t refetched = 0;
  milliseconds took{};
  std::vector<std::pair<std::string, balance::rows_ahead>> ahead; // by name
};
struct chunk_damaged {
  plan_number plan{};
  chunk_id chunk{};
  std::string source;
  std::string worker;
};

} // namespace ballast::coordinator::events

namespace ballast::coordinator {

using run_event = std::variant<
    events::coordinator_started, events::waiting, events::waiting_for_memory,
    events::window_chosen, events::spares, events::paused, events::resumed,
    events::scaled, events::balance_set, events::fault_injected, events::noted,
    events::epoch_ended, events::evaluated, events::ends_early, events::undone,
    events::error, events::step_refused, events::respawn_ended,
    events::disk_full, events::done, events::worker_joined,
    events::worker_returned, events::worker_left, events::worker_lost,
    events::state_received, events::straggler, events::cannot_open,
    events::generation_begun, events::plan_offered, events::plan_effective,
    events::plan_dropped, events::balanced, events::moved,
    events::chunk_damaged, events::checkpoint, events::checkpoint_failed,
    events::checkpoint_refused, events::no_memory_checkpoints,
    events::checkpoint_copied, events::checkpoint_not_copied,
    events::model_copied, events::model_not_copied, events::checkpoint_fetched,
    events::branched, events::model_refused, events::steps_restored,
    events::manifest_restored, events::damaged_tail>;

} // namespace ballast::coordinator
