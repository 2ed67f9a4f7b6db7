/// What a simulated cluster is made of; for its own files only.
#pragma once

#include "runtime/coordinator/idle_work.hpp"
#include "tests/simulation/cluster.hpp"

#include <type_traits>

namespace ballast::simulation {

/// What a user asks for, and what becomes of it.
struct cluster::user_request {
  void put() const;
  /// What the coordinator says to it, at once.
  failure answer(std::string& in_words) const;
  /// It was answered with "ok", so from now on it must come true.
  void promise(worker_id meant, step_number shown) const;

  cluster& in;
  uint64_t kind; // as answer() reads it
  std::string name;
  uint64_t number;
};

/// What workers and coordinator make of evaluations, and what they should.
struct cluster::judging {
  void evaluate(node_state& who) const;
  void keep_best(node_state& who) const;
  bool is_over(node_state& who) const;
  void told(const coordinator::run_event& what) const;
  uint64_t steps_to_do() const;
  void check_best(step_number best, uint64_t steps) const;

  cluster& in;
};

/// One process. A worker that comes back after its death is another one.
struct cluster::node_state {
  explicit node_state(worker::link_config how) : link(how) {}
  const assignment& order() const { return *lifecycle.present(); }

  uint32_t process = 0;
  std::string name;
  bool alive = true;
  uint64_t connection = 0; // 0: none; what an older one carried is lost
  worker_id handle{};      // under which the coordinator sends to it
  instant frozen_until{};
  instant up_cut_until{};   // nothing reaches the coordinator
  instant heard_at{};       // by the coordinator, its newest message
  instant down_cut_until{}; // nothing comes from it
  worker_id id{};
  // What ships: what it makes of its coordinator, and of its orders.
  worker::coordinator_link link;
  worker::worker_lifecycle lifecycle;
  bool searching = false;  // for a coordinator
  bool hello_sent = false; // and no answer to it yet
  bool sick = false;       // cannot load anything
  // What is played: model, data, collective, step thread.
  bool loaded = false; // some state, if only the one that a seed gives
  bool holds = false;
  bool has_last_step = false; // it applied the last of `applied` itself
  std::set<chunk_id> chunks;  // in its memory
  /// In force, but it has applied no step of it: until then it forgets nothing.
  std::optional<ledger::plan> fresh;
  std::optional<fetch_order> fetched;
  lineage applied;
  std::vector<ledger::step_record> unreported;
  instant reported_at{};
  std::map<step_number, ledger::step_record> records; // of all that is applied
  std::optional<lineage> copy;                        // for a checkpoint
  judgement judged;
  lineage best, copy_best; // of the parameters that are kept
  std::vector<evaluation_report> evaluations;
  std::shared_ptr<group> copied_in; // it was made there
  size_t copy_rank = 0;             // of this part
  size_t copy_world = 0;
  std::optional<worker::worker_core> core;
  std::shared_ptr<group> in;
  size_t rank = 0;
  std::optional<worker::step_order> drawn; // in flight
  std::deque<worker::step_order> ahead;    // drawn, not begun
  std::vector<command_kind> posts;         // not taken up yet
  bool standing = false;                   // paused
  bool copy_wanted = false;
  bool unsent = false;            // something that steps have left out
  std::shared_ptr<group> next_in; // beside the present one
  bool left = false;
  uint64_t life = 0; // of its step thread; what an ended one began is dropped
  bool beats = false;
  device_trouble trouble;
  instant last_ill{};     // when the coordinator last heard of that
  bool heard_ill = false; // in the last heartbeat
  instant last_posted{};  // to its own actor
  instant last_sent{};
  instant last_received{};
};

struct cluster::group {
  generation number{};
  size_t world = 0;
  std::set<size_t> connected;
  std::map<size_t, uint32_t> processes; // rank -> process
  bool broken = false;
  struct operation {
    std::map<size_t, worker::trailer> given;
    std::shared_ptr<attempt> what = std::make_shared<attempt>();
    bool nothing_left_out = false;
    std::set<size_t> left; // ranks that have its result or gave it up
  };
  std::map<uint64_t, operation> steps;
  connect_order order;
};

struct cluster::due {
  instant at;
  uint64_t number; // in the order in which they were made
  event what;
  bool operator<(const due& other) const {
    return std::pair(at, number) > std::pair(other.at, other.number);
  }
};

template <std::invocable Line>
void cluster::log(Line line) {
  if (options_.record || options_.tell)
    log(std::string(line()));
}

template <class Event>
void cluster::tell_core(Event what) {
  on(*core_, std::move(what), now_);
  perform(box_.take());
  if (core_)
    prepare_next(*core_);
}

template <class Order>
void cluster::on_order(node_state& who, const Order& order) {
  if (!who.link.takes(order.term))
    return;
  worker::worker_lifecycle& run = who.lifecycle;
  if constexpr (std::is_same_v<Order, connect_order>)
    perform(who, run.on_connect(order));
  else if constexpr (std::is_same_v<Order, plan_offer>)
    perform(who, run.on_plan(order));
  else
    perform(who, run.on_fetch(order));
}

constexpr uint64_t chunk_bytes = 1000; // where room counts

/// Journal and files of one run.
struct cluster::disk_state {
  generation journaled{};
  generation settled{}; // the last one that trained
  instant changed_at{}; // since then
  instant trained_at{}; // its newest committed step
  std::vector<coordinator::past_membership> memberships;
  std::map<plan_number, coordinator::past_plan> plans;
  coordinator::standing_requests asked;
  std::vector<ledger::committed_step> steps;
  size_t steps_synced = 0; // so many of them outlive a power cut
  uint64_t history = 0;    // changes where the run goes back
  lineage shown;           // what they were
  std::map<std::string, lineage> checkpoints;
  std::map<std::string, lineage> bests;                 // in these
  std::map<step_number, evaluation_report> evaluations; // that were told
  std::map<std::string, ledger::checkpoint_identity> identities;
  std::string served;
  std::vector<plan_number> told; // to be in force, in this order
  bool told_lost = false;        // some of it, in a power cut
  std::optional<lineage> model;
  instant full_until{}; // nothing big can be written

  /// A checkpoint; its file. The lines before one that is not in memory are on
  /// the disk before it has its name.
  std::string keep(const coordinator::fetch_checkpoint& what,
                   const lineage& held);
};

/// A checkpoint that the coordinator's host has, and no disk.
inline bool is_in_memory(const std::string& file) {
  return file.starts_with("memory-");
}

/// What users were told would happen.
struct cluster::user_state {
  /// Nothing: they do not know, the coordinator died before it answered.
  std::optional<bool> paused = false;
  bool stop = false;
  std::optional<uint64_t> workers;
  std::set<worker_id> leaving;
  /// A copy of this step or a later one.
  std::optional<step_number> copy;
  instant last{};                          // request
  instant quiet_at{};                      // nothing happens any more, since
  std::map<std::string, instant> starting; // by the supervisor
};

} // namespace ballast::simulation
