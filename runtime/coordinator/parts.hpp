/// The coordinator: its parts side by side, each with a state of its own that
/// only it changes. The transitions (transitions.hpp) work with them; the
/// coordinator actor owns them and uses them on its thread.
///
///   roster, staffing, loss_reports   nodes, and what becomes of them
///   membership                       what a run is at, and with which workers
///   progress, checkpoints            what is committed, what is on the disk
///   checkpoint_cost                  what the latter costs
///   rebalance, connectivity          what moves, and what does not connect
///   requests, poison                 what users ask for, what kills workers
///   time_account                     what the workers' time goes into
///   equal_bits                       who computes other bits than the others
#pragma once

#include "runtime/coordinator/checkpoint_cost.hpp"
#include "runtime/coordinator/checkpoints.hpp"
#include "runtime/coordinator/config.hpp"
#include "runtime/coordinator/connectivity.hpp"
#include "runtime/coordinator/delay_notice.hpp"
#include "runtime/coordinator/equal_bits.hpp"
#include "runtime/coordinator/final_model.hpp"
#include "runtime/coordinator/loss_reports.hpp"
#include "runtime/coordinator/membership.hpp"
#include "runtime/coordinator/outbox.hpp"
#include "runtime/coordinator/poison.hpp"
#include "runtime/coordinator/progress.hpp"
#include "runtime/coordinator/rebalance.hpp"
#include "runtime/coordinator/reduce_watch.hpp"
#include "runtime/coordinator/requests.hpp"
#include "runtime/coordinator/roster.hpp"
#include "runtime/coordinator/run_spec.hpp"
#include "runtime/coordinator/staffing.hpp"
#include "runtime/coordinator/straggler.hpp"
#include "runtime/coordinator/time_account.hpp"

#include <string>
#include <vector>

namespace ballast::coordinator {

/// What belongs to one run: replaced whole when the next one begins.
struct run_state {
  run_spec spec;
  progress steps;
  checkpoints copies;
  checkpoint_cost cost;
  rebalance balance;
  coordinator::requests requests;
  connectivity links;
  poison suspects;
  final_model model;
  delay_notice delay;
  reduce_watch reductions;
  equal_bits bits;
  time_account time;
};

struct coordinator_parts {
  /// `to` outlives it.
  coordinator_parts(coordinator_config told, outbox& to)
      : config(std::move(told)), out(to),
        nodes(config.heartbeat, config.supervised), staff(config.supervised) {}

  coordinator_config config;
  outbox& out;
  roster nodes;
  staffing staff;
  stragglers devices;
  loss_reports lost;
  membership members;
  run_state run;      // the newest; without a name before the first one
  instant ticked{-1}; // the newest clock_tick; negative: none yet

  bool may_train(const node& who) const {
    return nodes.may_train(who, run.spec.name);
  }
  std::vector<std::string> names(const std::vector<worker_id>& of) const;
  /// To every connected member of the generation.
  void command_all(command_kind kind, const std::string& reason);
  /// In the status until training goes on, and once in events.jsonl.
  void say_waiting(const std::string& why);
  /// Nothing has changed since it was seen that not all of the set fits.
  bool waits_for_memory() const;
  /// The plan of the newest generation for these workers.
  balance::place_shares placing(const std::vector<worker_id>& workers,
                                ledger::plan before) const;
  /// While it is fenced: asks for all that a report may have been lost of.
  fence_order fence_now() const;
};

} // namespace ballast::coordinator
