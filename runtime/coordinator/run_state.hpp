/// What the coordinator knows of nodes, of the run and of its present
/// generation. Plain data; coordinator_core owns and changes it.
#pragma once

#include "runtime/base/event_budget.hpp"
#include "runtime/coordinator/collective_choice.hpp"
#include "runtime/coordinator/failure_detector.hpp"
#include "runtime/coordinator/fence.hpp"
#include "runtime/coordinator/load_watch.hpp"
#include "runtime/coordinator/memory_limits.hpp"
#include "runtime/coordinator/node.hpp"
#include "runtime/coordinator/opening_attempts.hpp"
#include "runtime/coordinator/past_run.hpp"
#include "runtime/coordinator/recovery_times.hpp"
#include "runtime/coordinator/run_event.hpp"
#include "runtime/coordinator/run_phase.hpp"
#include "runtime/coordinator/run_tally.hpp"
#include "runtime/coordinator/shard_transfer.hpp"
#include "runtime/coordinator/standing_requests.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/commit.hpp"
#include "runtime/ledger/ledger.hpp"
#include "runtime/ledger/lineage.hpp"
#include "runtime/messages/messages.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ballast {

struct generation_state {
  ballast::generation number{};
  std::vector<worker_id> workers; // by rank
  collective_choice collective;
  plan current;
  std::vector<share_summary> shares;       // by rank
  std::vector<std::string> addresses;      // by rank, empty until loaded
  std::vector<std::string> data_addresses; // by rank, likewise
  std::vector<progress_report> rates;      // by rank: the last report
  std::vector<worker_load> loads;          // by rank, since the last view
  std::vector<uint64_t> step_us;           // of committed steps, likewise
  std::vector<link_copy> copies;           // of chunks, likewise
  commit_tracker commits;
  /// The one before a switch: its last reports may come after the switch.
  ballast::generation before{};
  bool from_seed = false;       // everybody makes the first state anew
  bool from_checkpoint = false; // or loads this one
  std::set<worker_id> stale;    // lack the state of the base
  std::set<worker_id> late;     // hold the one of the step before the base
  uint32_t source = 0;          // the rank that sends it to them
  std::set<worker_id> ready;    // state at the base, collective open
  bool took_a_step = false;     // that is committed
  std::optional<instant> connects_since = {}; // all were told to
  std::vector<worker_id> leavers; // released once the others are ready
  std::set<worker_id> paused;
  std::map<worker_id, worker_finished> finished;
};

/// The next membership while the present one trains on.
struct membership_change {
  ballast::generation number{};
  std::vector<worker_id> workers; // by rank
  collective_choice collective;
  plan offered;
  std::vector<share_summary> shares;
  std::vector<std::string> addresses;
  std::vector<std::string> data_addresses;
  /// What newcomers say they applied before anybody says that the switch
  /// happened.
  std::map<worker_id, step_number> applied;
  bool told = false; // that it happened
};

struct run : run_tally {
  job what;
  std::string name;
  run_phase phase = run_phase::preparing;
  set_summary set;
  std::optional<generation_state> members;
  std::optional<membership_change> change;
  /// Said by a generation that NCCL joined and that never took a step; whether
  /// it was NCCL's fault is known once nobody turns out to be lost.
  std::string nccl_suspect;
  std::string nccl_failed; // it was: "auto" does not try again
  std::optional<shard_transfer> transfer;
  balance_account balance;
  plan_number observed{}; // of the plan that the shard manager last saw
  bool observing = false; // it has not answered yet
  transfer_end last_transfer = transfer_end::none; // it does not know of yet
  std::optional<ballast::fence> fenced; // until its generation is decided
  instant fence_deadline{};
  instant fence_begun{};
  step_number undone{}; // the last one, when the run last went back
  std::optional<recovery_times> recovery; // until its first step is committed
  opening_attempts opening; // of generations, until one takes a step
  opening_attempts joining; // of changes, until one switches
  std::string cannot_open;  // why the last of them failed
  std::map<std::string, absence> absent; // by name; also of those who are back
  std::vector<std::pair<std::string, double>> recoveries; // reason, ms
  /// The ledger behind the last committed step; none before the first plan.
  std::optional<ledger> book;
  std::map<plan_number, plan> plans; // issued, and not older than the book's
  std::set<plan_number> offered;     // of these, not journaled as effective
  bool short_of_workers = false;     // below min_workers: all wait
  std::optional<memory_wait> short_of_memory;
  load_watch loads;
  std::string waits;  // why nothing goes on, until it does
  bool began = false; // a generation was formed
  bool sound = false; // a step was committed once, also if it is undone now
  standing_requests asked;
  /// Of an earlier life, until the data are prepared again.
  std::optional<past_run> past;
  std::set<worker_id> may_return; // of an earlier life, with their state
  instant returns_until{};        // somebody must be back by then
  /// Nobody may apply this step; what each worker fed to it.
  struct refused_step {
    step_number step{};
    errc code = errc::non_finite_loss;
    std::string why;
    instant until{};    // then no more is waited for
    generation under{}; // whose members these are
    std::map<worker_id, std::vector<uint64_t>> sample_ids;
  };
  std::optional<refused_step> refused;
  std::map<worker_id, step_death> step_deaths;
  /// Samples in flight when a worker died by its own fault, and how often; a
  /// step that is committed acquits its own.
  std::map<row_ref, uint32_t> suspects;
  /// Deaths by their own fault of last workers, since the newest checkpoint.
  uint32_t deaths_in_vain = 0;
  /// Where the run can go back to, ascending; the first needs no file.
  std::vector<restart_point> points{restart_point{}};
  /// Committed steps of which a worker may hold a copy, or soon will.
  std::map<step_number, restart_point> copies;
  bool copy_wanted = false; // as soon as possible
  /// One that was asked for could not be fetched: asked for again then.
  std::optional<instant> copy_again;
  uint32_t copy_failures = 0; // in a row, of that one
  /// Fetched and written just now. What comes back may be of a history that
  /// was undone meanwhile, or of an earlier run.
  std::optional<checkpoint_identity> copy_on_its_way;
  std::optional<step_number> copied; // by rank 0, not fetched yet
  std::string weights_sha256;
  step_number model_step{}; // of model.safetensors; 0: there is none
  std::optional<model_search> model_sought;
  sliding_rate rate;
  struct thinned { // written if the budget has room, the newest one at the end
    event_budget budget;
    std::optional<run_event> untold;
  };
  std::map<size_t, thinned> thinned_events; // by place in run_event
  /// Every worker is to leave. Then: since when, and whether their state goes
  /// to the disk because no other worker came.
  std::optional<instant> all_leave;
  bool parking = false;
  std::string reason; // why it failed
  int exit_code = 0;  // of a run that ended
  /// While it is fenced: asks for all that a report may have been lost of.
  fence_order fence_now(term from) const;
};

/// As events name it.
events::worker_process process_of(const node& who);

/// What sums the gradients of these workers.
collective_choice choose_collective(const run& of,
                                    const std::map<worker_id, node>& nodes,
                                    const std::vector<worker_id>& workers);
/// Notes which links of an opening carried nothing. Of a generation that took a
/// step: nothing.
void note_links(run& of, worker_id who, generation in,
                const std::vector<dead_link>& links);
/// Notes that a generation did not open, and who could not reach whom.
void note_unopened(run& of, const worker_failed& message,
                   const std::string& why);
/// Where "auto" took NCCL and no step came of it, `name`'s failure is kept ...
void suspect_nccl(run& of, const worker_failed& message,
                  const std::string& name);
/// ... until the fence is over: if everybody is alive, it was NCCL.
void judge_nccl(run& of);

} // namespace ballast
