/// The coordinator's decisions: who trains, in which generation, and when a run
/// begins, pauses, stops and ends. Events and `now` in, actions out; no clock,
/// no socket, no file. Owned by the coordinator actor.
///
/// One run at a time. All state of a run lies in `run`, all state of one
/// membership in `generation_state`; both are replaced whole.
#pragma once

#include "runtime/actions.hpp"
#include "runtime/commit.hpp"
#include "runtime/failure_detector.hpp"
#include "runtime/job.hpp"
#include "runtime/messages.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ballast {

enum class run_phase : uint8_t {
  idle,      // no job
  preparing, // reading and placing the data
  waiting,   // for enough workers
  loading,   // workers fetch their chunks
  training,
  paused,
  finishing, // last step applied everywhere; collecting the model
  done,
  failed,
  stopped,
};
std::string to_string(run_phase phase);

struct coordinator_config {
  ballast::term term{1};
  std::string build_id;
  std::string token;
  std::chrono::milliseconds heartbeat{200};
  /// Somebody reports how a worker's process ended: wait for that a moment
  /// before calling a closed connection the reason.
  bool supervised = false;
  /// Cores of this host, shared among its workers.
  uint32_t cores = 1;
};

/// A node that said hello; keeps its worker_id until it is lost.
struct node {
  worker_id id{};
  uint32_t incarnation = 0;
  worker_hello about;
  bool connected = true;
  heartbeat last;
};

/// "worker w2 (pid 4711 on host)".
std::string describe_node(const node& who);

struct generation_state {
  ballast::generation number{};
  std::vector<worker_id> workers; // by rank
  plan current;
  std::vector<share_summary> shares;       // by rank
  std::vector<std::string> addresses;      // by rank, empty until loaded
  std::vector<std::string> data_addresses; // by rank, likewise
  std::vector<progress_report> rates;      // by rank: the last report
  commit_tracker commits;
  std::set<worker_id> paused;
  std::map<worker_id, worker_finished> finished;
};

struct run {
  job what;
  std::string name;
  run_phase phase = run_phase::preparing;
  set_summary set;
  std::optional<generation_state> members;
  bool stop_wanted = false;
  bool stop_by_signal = false;
  uint64_t samples = 0; // committed
  committed_step last;  // newest committed step
  committed_step first; // oldest
  double epoch_loss_sum = 0;
  uint64_t epoch_samples = 0;
  std::optional<double> train_loss; // mean over the last full epoch
  std::optional<evaluation_report> test;
  uint64_t evaluated_ns = 0; // between first and last step
  std::string weights_sha256;
  std::string reason; // why it failed
  int exit_code = 0;  // of a run that ended
  uint64_t samples_per_s() const;
};

class coordinator_core {
public:
  explicit coordinator_core(coordinator_config config);

  // -- nodes ------------------------------------------------------------------

  struct hello_result {
    std::optional<welcome> accepted;
    failure refused;
    actions then;
  };
  hello_result on_hello(const worker_hello& hello, instant now);
  void on_heartbeat(const heartbeat& beat, instant now);
  /// The connection is gone, or the process: `reason` says how. `certain`:
  /// nothing better than this reason will come.
  actions on_node_down(worker_id who, const std::string& reason, bool certain,
                       instant now);
  /// The supervisor saw a child end, also one that never said hello.
  actions on_process_ended(const std::string& name, const std::string& how,
                           instant now);

  // -- a run ------------------------------------------------------------------

  /// `life`: the term that the run's journal gave. A second job is refused.
  struct submit_result {
    failure refused;
    actions then;
  };
  submit_result on_submit(job what, std::string run_name, ballast::term life);
  actions on_prepared(set_summary set);
  actions on_prepare_failed(failure why);
  actions on_placed(plan placed, std::vector<share_summary> shares);
  actions on_loaded(const worker_loaded& message);
  actions on_progress(const progress_report& report);
  actions on_evaluated(const evaluation_report& report);
  actions on_paused(const worker_paused& message);
  actions on_finished(const worker_finished& message);
  actions on_failed(const worker_failed& message);
  actions on_model_saved(failure problem);
  /// Something outside the core went wrong: disk full, shard manager down.
  actions on_trouble(failure why);
  actions on_tick(instant now);

  // -- requests ---------------------------------------------------------------

  struct reply {
    failure refused;
    actions then;
  };
  reply pause();
  reply resume();
  reply stop(bool by_signal);

  // -- state ------------------------------------------------------------------

  const coordinator_config& config() const { return config_; }
  const std::map<worker_id, node>& nodes() const { return nodes_; }
  const std::optional<run>& current() const { return run_; }
  /// A run is under way: another job is refused.
  bool active() const;
  run_phase phase() const { return run_ ? run_->phase : run_phase::idle; }
  const failure_detector& detector() const { return detector_; }
  std::string name_of(worker_id who) const;

private:
  /// A bad sign whose cause is still awaited.
  struct suspicion {
    std::string reason;
    instant since{};
    bool gone = true; // the connection is closed, not only an operation failed
  };

  bool member(worker_id who, generation gen) const;
  size_t rank_of(worker_id who) const;
  void form_generation(actions& out);
  uint32_t threads_for(worker_id who) const;
  void to_all(actions& out, command_kind kind, const std::string& reason);
  actions lose(worker_id who, const std::string& reason, errc code);
  actions fail(failure why);
  void finish(actions& out, run_phase phase, int exit_code, std::string reason);
  void commit(const committed_step& step, actions& out);

  coordinator_config config_;
  failure_detector detector_;
  std::map<worker_id, node> nodes_;
  std::map<std::string, uint32_t> incarnations_; // by name
  std::map<worker_id, suspicion> suspected_;
  std::optional<instant> waiting_since_; // for workers, in `run`
  worker_id last_worker_{};
  generation last_generation_{};
  plan_number last_plan_{};
  std::optional<run> run_;
};

/// GET /v1/status. `now` for heartbeat ages.
nlohmann::json status_json(const coordinator_core& core, instant now);
/// workers.json.
nlohmann::json workers_json(const coordinator_core& core);

} // namespace ballast
