/// A cluster in one thread and in virtual time: the decisions of runtime/ (the
/// coordinator's core, one worker core a worker, the ledger) driven by a seeded
/// scheduler. Messages take random time, connections keep their order and break
/// with their process; an all-reduce ends on each rank at its own moment, or
/// never. A violated invariant throws; the same seed gives the same run.
#pragma once

#include "runtime/balance/balancer.hpp"
#include "runtime/coordinator/transitions.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/worker/coordinator_link.hpp"
#include "runtime/worker/lifecycle.hpp"
#include "runtime/worker/worker_core.hpp"
#include "tests/runtime/ledger/ledger_fixture.hpp"
#include "tests/simulation/cluster_options.hpp"

#include <concepts>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace ballast::simulation {

class cluster {
public:
  explicit cluster(cluster_options options);
  ~cluster();
  outcome run();
  std::string history() const; // newest last
private:
  struct node_state;
  struct group;        // the collective of one generation
  struct disk_state;   // what outlives the coordinator
  struct user_state;   // what was asked for, and must come true
  struct user_request; // one of them
  struct judging;      // of evaluations
  struct performer;    // carries out one action of the coordinator
  struct engine;       // carries out one of a worker
  struct due;          // an event and its time
  using event = std::function<void()>;

  void after(instant delay, event what);
  instant some(int64_t least_us, int64_t most_us);
  void log(const std::string& line);
  template <std::invocable Line> // most runs are right: nobody reads it
  void log(Line line);
  bool quiet() const { return now_ > options_.faults_until; }

  // -- processes
  void start_node(std::string name = {});
  void kill(node_state& who, const std::string& how);
  /// The kernel tells those on the same host, whatever they do.
  void tell_peers(node_state& dead);
  void freeze(node_state& who, instant how_long);
  void schedule_fault();
  void hurt_somebody();
  void crash_coordinator();
  void restart_coordinator();
  void stall_coordinator(instant how_long);
  void cut_power();
  void new_core();

  // -- the supervisor
  void process_ended(const std::string& name, const process_end& how);
  void expelled(const std::string& name);

  // -- the network
  /// The coordinator's own event: waits while it stands still, lost with it.
  void at_coordinator(instant delay, event what);
  /// In order per sender and receiver; lost if either end is gone.
  void to_coordinator(node_state& from, event what);
  void to_node(worker_id to, std::function<void(node_state&)> what);
  void to_process(node_state& to, std::function<void(node_state&)> what);
  /// A worker's own event: waits while the process is frozen.
  void at_node(node_state& who, instant delay,
               std::function<void(node_state&)> what);
  void cut_link(node_state& who);
  bool apart(const group& in);
  worker_failed broken_off(const node_state& who, const group& in);

  // -- coordinator
  void perform(const coordinator::actions& list);
  /// An event, and what the coordinator does about it.
  template <class Event>
  void tell_core(Event what);
  void tick();
  void begin_run();
  void run_ended(const coordinator::end_run& how);

  // -- users
  void schedule_request();
  void ask(uint64_t kind);
  void knock();
  void see_to_requests();
  void check_requests(instant since);

  // -- worker
  void connect_to_coordinator(node_state& who);
  void hello(node_state& who);
  void look_for_coordinator(node_state& who);
  void carry_out(node_state& who, const worker::link_decision& what);
  void perform(node_state& who, const worker::worker_actions& list);
  void pass_on(node_state& who, const worker_report& what);
  void step_thread_reports(node_state& who, worker_report what);
  void end_step_thread(node_state& who);
  void forget_run(node_state& who);
  void beat(node_state& who);
  void on_assignment(node_state& who, const assignment& order);
  template <class Order> // for the run that it is in
  void on_order(node_state& who, const Order& order);
  void on_fence(node_state& who, const fence_order& order);
  void on_command(node_state& who, const command& order);
  bool fails_to_load(node_state& who, generation of);
  void load(node_state& who, const assignment& order);
  void load_next(node_state& who, const assignment& order);
  void join(node_state& who, const connect_order& order, bool beside);
  void fetch(node_state& who, const fetch_order& order);
  balance::balance_answer some_answer(const balance::load_view& view);
  balance::balance_answer answer(const balance::load_view& view);
  void forget_others(node_state& who);
  void hold_share(node_state& who, const ledger::plan& of);
  uint64_t room_bytes() const;
  void connected_beside(node_state& who);
  void switch_over(node_state& who);
  void hand_over(const std::shared_ptr<group>& in, node_state& source);
  void announce(node_state& who, step_number base);
  void begin(node_state& who, const connect_order& order);
  ledger::ledger_config rows() const;
  void start_steps(node_state& who, bool paused);
  void take_posts(node_state& who);
  void stand_still(node_state& who);
  void finish(node_state& who);
  void copy_state(node_state& who);
  void next_step(node_state& who);
  void gather(node_state& who);
  void contribute(node_state& who);
  void completed(node_state& who, size_t step_index, bool broken);
  void report(node_state& who);
  void break_group(const std::shared_ptr<group>& which);

  // -- the disk
  coordinator::past_run remembered() const;
  void keep(const coordinator::journal_change& what);
  void keep(const coordinator::journal_offer& what);
  void keep(const coordinator::journal_effective& what);
  void keep(const coordinator::write_event& what);
  void keep(const coordinator::undo_steps& what);
  void publish(const coordinator::fetch_checkpoint& what);
  void publish(const coordinator::fetch_model& what);
  void publish(const coordinator::publish_model& what);
  void publish_parameters(const lineage& state);

  // -- invariants
  void check_shown(const std::vector<ledger::committed_step>& steps);
  void check_journal(const lineage& applied);
  void check_positions(const lineage& applied);
  void check_undone(const coordinator::undo_steps& what);
  void check_coverage();
  void check_room(const node_state& who, const assignment& order);
  void check_straggler(const coordinator::events::straggler& told);
  void check_stragglers();
  void check_waiting();
  void check_told();
  void check_end();
  [[noreturn]] void fail(const std::string& why);

  cluster_options options_;
  ballast::testing::test_random random_;
  ledger::manifest set_;                       // as it is counted
  std::unique_ptr<balance::balancer> planner_; // dies with the coordinator
  job what_;
  instant now_{};
  uint64_t sequence_ = 0;
  std::vector<due> queue_;                                // a heap
  std::map<uint32_t, std::unique_ptr<node_state>> nodes_; // by process number
  uint32_t processes_ = 0;
  coordinator::outbox box_; // of the coordinator that lives
  std::unique_ptr<coordinator::coordinator_parts> core_;
  uint64_t life_ = 1; // of the coordinator; what an earlier one began is lost
  uint64_t terms_ = 1;
  instant stands_until_{};              // the coordinator's process
  bool crash_soon_ = false;             // in the midst of what it does next
  instant last_progress_{};             // or word of why there is none
  coordinator::run_phase last_phase_{}; // when that was looked at
  uint32_t run_number_ = 1;
  std::map<generation, std::shared_ptr<group>> groups_;
  std::map<std::pair<uint32_t, uint32_t>, instant> apart_; // processes, until
  std::unique_ptr<disk_state> disk_;
  std::unique_ptr<user_state> user_;
  outcome outcome_;
  std::set<std::string> ill_; // workers whose devices were told of
  bool over_ = false;
  std::deque<std::pair<instant, std::string>> history_;
};

} // namespace ballast::simulation
