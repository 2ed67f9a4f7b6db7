/// What happens to the coordinator: each report and answer is a type, and
/// transitions.hpp has one function `on` for each. Reports of workers are those
/// of runtime/messages. Plain data.
#pragma once

#include "runtime/balance/load.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/ledger/lineage.hpp"
#include "runtime/messages/control_request.hpp"
#include "runtime/messages/loss_cause.hpp"
#include "runtime/messages/messages.hpp"

#include <string>
#include <variant>
#include <vector>

namespace ballast::coordinator {

// -- from the transport and the supervisor ------------------------------------

/// The connection of a node is gone, or its process.
struct connection_lost {
  worker_id worker{};
  loss_cause cause;
};
/// The supervisor saw a child end, also one that never said hello.
struct process_ended {
  std::string name;
  process_end how;
};
/// The process of a worker was asked to end: it takes no new work.
struct leave_announced {
  worker_id worker{};
};

// -- from the shard manager ---------------------------------------------------

struct data_prepared {
  set_summary set;
};
struct prepare_failed {
  failure why;
};
/// The answer to place_shares.
struct shares_placed {
  ledger::plan what;
  std::vector<share_summary> shares;
};
/// The other one: the workers of that generation cannot hold the set.
struct no_room_found {
  generation of{};
  memory_need lacks;
};

// -- from the shell -----------------------------------------------------------

/// The copy of the state after that step is published, or why not.
struct checkpoint_written {
  ledger::checkpoint_identity after;
  std::string file;
  failure problem;
};
/// The answer to open_memory: there is room, or why not.
struct memory_opened {
  failure problem;
};
/// The checkpoint in memory is not there any more: somebody has removed it.
struct memory_gone {};
/// Something outside the core went wrong: disk full, shard manager down.
struct outside_trouble {
  failure why;
};
/// Time goes by.
struct clock_tick {};

template <class... Some, class... More>
std::variant<Some..., More...> joined(std::variant<Some...>,
                                      std::variant<More...>);

/// Whatever a worker reports, and what else happens.
using coordinator_event = decltype(joined(
    worker_report(),
    std::variant<heartbeat, connection_lost, process_ended, leave_announced,
                 data_prepared, prepare_failed, shares_placed, no_room_found,
                 balance::balance_answer, saved_model, checkpoint_written,
                 memory_opened, memory_gone, outside_trouble, clock_tick>()));

// -- from users; the others are in runtime/messages/control_request.hpp -------

/// Finish the step in flight, keep the model, end.
struct stop_run {
  bool by_signal = false;
};
/// A fault on purpose. `amount`: seconds of a stall, factor of a slow-down,
/// chunks to damage.
struct injected_fault {
  std::string worker;
  command_kind kind = command_kind::kill;
  double amount = 0;
};

} // namespace ballast::coordinator
