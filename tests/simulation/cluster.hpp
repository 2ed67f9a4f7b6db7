/// A cluster in one thread and in virtual time: the decisions of runtime/ (the
/// coordinator's core, one worker core a worker, the ledger) driven by a seeded
/// scheduler. Messages take random time, connections keep their order and break
/// with their process; an all-reduce ends at a moment of its own on every rank,
/// and where somebody dies in it, on some ranks only.
///
/// The invariants are checked while it runs; the first violation throws, with
/// the seed and what led to it. The same seed gives the same run.
#pragma once

#include "runtime/balance/balancer.hpp"
#include "runtime/coordinator_core.hpp"
#include "runtime/manifest.hpp"
#include "runtime/replay.hpp"
#include "runtime/worker_core.hpp"
#include "tests/runtime/ledger_fixture.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace ballast::simulation {

struct violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct cluster_options {
  uint64_t seed = 1;
  uint32_t workers = 3;
  uint64_t rows = 107;
  uint32_t chunk_rows = 10;
  uint64_t global_batch = 13;
  uint64_t epochs = 3;
  /// Faults happen in the first part of the run only, so that it can end.
  instant faults_until{};
  instant mean_between_faults = std::chrono::milliseconds(400);
  uint64_t checkpoint_every = 10;
  /// The real balancer wants what it wants, instead of anything at all; the
  /// first chunk has the only rows of a class.
  bool balanced = false;
  /// Devices fall ill and get well again, in every heartbeat by chance.
  bool ill_devices = false;
  bool tell = false; // print what happens as it happens
};

/// How a run went.
struct outcome {
  std::string state; // done, failed; empty: it did not end in time
  std::string reason;
  uint64_t generations = 0;
  uint64_t kills = 0;
  uint64_t freezes = 0;
  uint64_t excluded = 0;
  uint64_t drains = 0;
  uint64_t joins = 0;        // changes without a fence
  uint64_t crashes = 0;      // of the coordinator
  uint64_t moves = 0;        // plans of the same membership that took effect
  uint64_t undone = 0;       // steps that a run went back
  uint64_t lone_classes = 0; // held by one worker alone in the end
  uint64_t lone_plans = 0;   // that a class of that kind was the cause of
  bool stalled = false;      // plans failed again and again; it waited
  uint64_t ailing = 0;       // devices that were told of
  instant same_since{};      // how long the last membership lasted
  uint64_t events = 0;
};

/// The rows that one attempt at a step feeds to the gradient, by rank, and what
/// the ranks did with it.
struct attempt {
  ballast::generation generation{};
  plan_number plan{};
  position at;
  std::vector<std::vector<row_ref>> rows; // by rank
};

/// What a worker's parameters contain: every applied attempt, in order.
using lineage = std::vector<std::shared_ptr<const attempt>>;

class cluster {
public:
  explicit cluster(cluster_options options);
  ~cluster();
  outcome run();
  /// What happened, newest last.
  std::string history() const;

private:
  struct node_state;
  struct group; // the collective of one generation
  using event = std::function<void()>;

  // -- time
  void after(instant delay, event what);
  instant some(int64_t least_us, int64_t most_us);
  void log(const std::string& line);

  // -- processes and the network
  void start_node();
  void kill(node_state& who, const std::string& how);
  /// The kernel tells those on the same host, whatever they do.
  void tell_peers(node_state& dead);
  void freeze(node_state& who, instant how_long);
  void schedule_fault();
  void crash_coordinator();
  void restart_coordinator();
  void come_back(node_state& who);
  past_run remembered() const;
  void keep(const journal_change& what);
  void keep(const journal_offer& what);
  void keep(const journal_effective& what);
  void keep(const write_event& what);
  void keep(const undo_steps& what);
  /// In order per sender and receiver; lost if either end is gone.
  void to_coordinator(node_state& from, event what);
  void to_node(worker_id to, std::function<void(node_state&)> what);
  /// A worker's own event: waits while the process is frozen.
  void at_node(node_state& who, instant delay,
               std::function<void(node_state&)> what);

  // -- coordinator
  void perform(const actions& list);
  void tick();

  // -- worker
  void hello(node_state& who);
  void beat(node_state& who);
  void on_assignment(node_state& who, const assignment& order);
  void on_connect(node_state& who, const connect_order& order);
  void on_fence(node_state& who, const fence_order& order);
  void on_command(node_state& who, const command& order);
  void on_fetch(node_state& who, const fetch_order& order);
  balance_answer some_answer(const load_view& view);
  balance_answer answer(const load_view& view);
  void check_coverage();
  void check_straggler(const nlohmann::ordered_json& told);
  void check_stragglers();
  void forget_others(node_state& who);
  void hold_share(node_state& who, const plan& of);
  void prepare_next(node_state& who, const assignment& order);
  void connected_beside(node_state& who);
  void switch_over(node_state& who);
  void hand_over(const std::shared_ptr<group>& in, node_state& source);
  void by_actor(node_state& who, event what);
  void announce(node_state& who, step_number base);
  void begin(node_state& who, const connect_order& order);
  ledger_config rows() const;
  void next_step(node_state& who);
  void contribute(node_state& who);
  void completed(node_state& who, size_t step_index, bool broken);
  void report(node_state& who);
  void break_group(const std::shared_ptr<group>& which);

  // -- invariants
  void check_shown(const std::vector<committed_step>& steps);
  void check_journal(const lineage& applied);
  void check_told();
  void check_end();
  [[noreturn]] void fail(const std::string& why);

  cluster_options options_;
  ballast::testing::test_random random_;
  manifest set_;
  std::unique_ptr<balancer> mind_; // dies with the coordinator
  generation settled_{};           // the last one that trained
  instant changed_at_{};           // since then
  job what_;
  instant now_{};
  uint64_t sequence_ = 0;
  std::map<std::pair<instant, uint64_t>, event> queue_;
  std::map<uint32_t, std::unique_ptr<node_state>> nodes_; // by process number
  uint32_t processes_ = 0;
  std::unique_ptr<coordinator_core> core_;
  std::map<generation, std::shared_ptr<group>> groups_;
  lineage shown_;
  std::vector<committed_step> steps_;
  ballast::generation journaled_{};
  std::vector<past_membership> memberships_;
  /// What the disk holds: steps and parameters.
  std::map<std::string, lineage> checkpoints_;
  std::string served_;
  uint64_t life_ = 1; // of the coordinator; what an earlier one began is lost
  bool crash_soon_ = false; // in the midst of what it does next
  std::map<plan_number, past_plan> plans_;
  std::set<plan_number> told_; // to be in force
  standing_requests asked_;
  outcome outcome_;
  std::set<std::string> ill_; // workers whose devices were told of
  bool over_ = false;
  std::deque<std::string> history_;
};

} // namespace ballast::simulation
