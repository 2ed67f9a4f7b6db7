/// What the coordinator's core wants done. The shell performs a list in order:
/// what is journaled comes before what is sent because of it.
#pragma once

#include "runtime/balance/load.hpp"
#include "runtime/balance/place_shares.hpp"
#include "runtime/balance/plan_note.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/coordinator/equal_bits.hpp"
#include "runtime/coordinator/run_event.hpp"
#include "runtime/coordinator/standing_requests.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/commit.hpp"
#include "runtime/ledger/lineage.hpp"
#include "runtime/ledger/sequence.hpp"
#include "runtime/messages/messages.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ballast::coordinator {

/// Shard manager: read, place and chunk the data, serve the chunks.
struct prepare_data {
  job what;
};
/// A membership and its plan, at once: one wait for the disk. `effective` is
/// empty while the plan is only offered.
struct journal_change {
  ballast::generation generation{};
  std::vector<worker_id> workers;
  std::vector<std::string> names;
  std::vector<uint32_t> incarnations;
  ledger::plan what;
  std::optional<ledger::position> effective;
  balance::plan_note note;
};
/// A plan of the membership in force is offered.
struct journal_offer {
  ledger::plan what;
  balance::plan_note note;
};
/// An offered plan took effect.
struct journal_effective {
  plan_number number{};
  ledger::position from;
};
struct journal_commit {
  step_number step{};
  epoch_number epoch{};
};
/// All that users asked of the run so far.
struct journal_requests {
  standing_requests what;
};
/// The job, as it is from now on: what it leaves open is decided.
struct journal_job {
  job what;
};
/// Shard manager: balance like this from now on.
struct apply_balance {
  balance_spec what;
};
struct send_assignment {
  worker_id to{};
  assignment what;
};
struct send_connect {
  worker_id to{};
  connect_order what;
};
struct send_fence {
  worker_id to{};
  fence_order what;
};
/// A pending plan for a worker that needs nothing else for it.
struct send_plan {
  worker_id to{};
  plan_offer what;
};
/// Chunks for a worker that is to own them soon.
struct send_fetch {
  worker_id to{};
  fetch_order what;
};
/// Shard manager: look at this, and say what should change; answered with
/// on_balance.
struct observe_load {
  balance::load_view what;
};
struct send_command {
  worker_id to{};
  command what;
};
/// Lines for steps.jsonl, in order.
struct write_steps {
  std::vector<ledger::committed_step> steps;
};
/// Forget a worker that is excluded; whoever started it may replace it.
struct expel {
  worker_id who{};
  /// Why it is to take no part in this run any more; empty: it may join again.
  std::string dismissed = {};
  /// Why it is excluded, if not for its silence.
  std::string reason = {};
};
/// Start another worker process on this machine, under this name.
struct start_worker {
  std::string name;
};
/// One line for events.jsonl; the shell adds number and time.
struct write_event {
  run_event what;
};
struct write_workers {}; // workers.json changed
/// Who has parameters, or a part of a copied state, and where it is asked.
struct state_holder {
  worker_id who{};
  std::string address;
};
/// Publish model.safetensors, from these workers together.
struct fetch_model {
  std::vector<state_holder> from;
  std::string weights_digest; // that they agreed on; empty: there was only one
  step_number step{};
  step_number best = {};        // of keep.best, 0: none; the last is in last/
  std::string best_digest = {}; // as weights_digest
};
/// Nobody has the final parameters any more: publish those of this checkpoint.
struct publish_model {
  std::string checkpoint; // its file
  step_number step{};
  step_number best = {}; // likewise
};
/// Get a copy of the training state after `step` from the workers that hold its
/// parts, and publish it as a checkpoint; answered with checkpoint_written.
struct fetch_checkpoint {
  std::vector<state_holder> from; // by rank
  ledger::checkpoint_identity after;
  uint32_t keep = 2;
  bool requested = false; // also its event is written in any case
  bool in_memory = false; // it goes there
  std::string file = {};  // instead of `from`: of the checkpoint in memory
};
/// Make room in memory for checkpoints; answered with memory_opened.
struct open_memory {
  uint64_t state_bytes = 0;
};
/// A checkpoint that the run cannot go on from: move it out of the way.
struct refuse_checkpoint {
  std::string file;
  std::string reason;
};
/// Serve this checkpoint to the workers; empty: none.
struct serve_checkpoint {
  std::string file;
};
/// The run goes back: what is written of later steps counts no more.
struct undo_steps {
  step_number to{};
  epoch_number epoch{};
  std::string reason;
};
/// The shell names the rows as the user knows them; answers with on_trouble.
struct give_up {
  failure why;
  std::vector<ledger::row_ref> rows;
};
/// The run is over: audit, report.json, then tell whoever waits.
struct end_run {
  std::string state; // done, failed, stopped
  int exit_code = 0;
  std::string reason; // one line, empty if done
  /// What ended it lies outside of the run: without that it goes on.
  bool goes_on = false;
};

/// One of these. Its copies, moves and ends are written once, in actions.cpp:
/// compilers need seconds for them, in every file that keeps an action.
struct action
    : std::variant<
          prepare_data, balance::place_shares, journal_change, journal_offer,
          journal_effective, journal_commit, journal_requests, journal_job,
          journal_probe, apply_balance, send_assignment, send_connect,
          send_fence, send_plan, send_fetch, observe_load, send_command, expel,
          start_worker, write_steps, write_digests, write_event, write_workers,
          fetch_model, publish_model, fetch_checkpoint, open_memory,
          refuse_checkpoint, serve_checkpoint, undo_steps, give_up, end_run> {
  using variant::variant;
  action(const action& other);
  action(action&& other) noexcept;
  action& operator=(const action& other);
  action& operator=(action&& other) noexcept;
  ~action();
};
using actions = std::vector<action>;

} // namespace ballast::coordinator
