/// One generation: its workers by rank, its plan, and how far each of them is.
/// Replaced whole when the generation changes. Plain data; a state of
/// `membership` owns it.
#pragma once

#include "runtime/base/instant.hpp"
#include "runtime/coordinator/collective_choice.hpp"
#include "runtime/ledger/commit.hpp"
#include "runtime/ledger/plan.hpp"
#include "runtime/messages/messages.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ballast::coordinator {

struct generation_state {
  ballast::generation number{};
  std::vector<worker_id> workers; // by rank
  collective_choice collective;
  ledger::plan current;
  std::vector<share_summary> shares;       // by rank
  std::vector<std::string> addresses;      // by rank, empty until loaded
  std::vector<std::string> data_addresses; // by rank, likewise
  std::vector<std::string> probes;         // by rank, likewise: equal_bits.hpp
  ledger::commit_tracker commits;
  /// The one before a switch: its last reports may come after the switch.
  ballast::generation before{};
  bool from_seed = false;       // every worker makes the first state anew
  bool from_checkpoint = false; // or loads this one
  std::set<worker_id> stale;    // lack the state of the base
  std::set<worker_id> late;     // hold the one of the step before the base
  uint32_t source = 0;          // the rank that sends it to them
  std::set<worker_id> ready;    // state at the base, collective open
  bool took_a_step = false;     // that is committed
  std::optional<instant> connects_since = {}; // all have their addresses
  std::vector<worker_id> leavers; // released once the others are ready
  std::set<worker_id> paused;
  std::map<worker_id, worker_finished> finished;

  generation_state(ballast::generation of, std::vector<worker_id> ranks,
                   ledger::commit_tracker steps)
      : number(of), workers(std::move(ranks)), addresses(workers.size()),
        data_addresses(workers.size()), probes(workers.size()),
        commits(std::move(steps)) {}

  bool holds(worker_id who) const { return rank_of(who) < workers.size(); }
  /// The number of workers where it is none of them.
  size_t rank_of(worker_id who) const {
    return size_t(std::find(workers.begin(), workers.end(), who) -
                  workers.begin());
  }
  bool all_ready() const { return ready.size() == workers.size(); }
  bool all_loaded() const { return loaded == workers.size(); }
  bool owes(worker_id leaver) const {
    return std::find(leavers.begin(), leavers.end(), leaver) != leavers.end();
  }
  /// A rank listens there.
  void listens(size_t rank, const worker_loaded& message) {
    loaded += addresses[rank].empty() ? 1 : 0;
    addresses[rank] = message.collective_address;
    data_addresses[rank] = message.data_address;
    probes[rank] = message.probe;
    loaded -= addresses[rank].empty() ? 1 : 0;
  }

  size_t loaded = 0; // ranks that listen
};

/// The next membership while the present one trains on.
struct membership_change {
  ballast::generation number{};
  std::vector<worker_id> workers; // by rank
  collective_choice collective;
  ledger::plan offered;
  std::vector<share_summary> shares;
  std::vector<std::string> addresses;
  std::vector<std::string> data_addresses;
  /// What newcomers say they applied before any member says that the switch
  /// happened.
  std::map<worker_id, step_number> applied;
  bool announced = false; // that it happened

  bool holds(worker_id who) const {
    return std::find(workers.begin(), workers.end(), who) != workers.end();
  }
};

} // namespace ballast::coordinator
