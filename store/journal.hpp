/// The coordinator's durable memory (`ledger.sqlite` in the run directory):
/// terms, the job, generations, plans with the position where each took effect,
/// and the last committed step. With the manifest these determine every draw of
/// every worker; `ballast audit` needs nothing else.
///
/// Decisions are on disk when the call returns; commits may lag, and a power
/// failure may lose the newest. One writer, which holds the term lock
/// (`coordinator.lock`) as long as it lives; readers at any time. One thread at
/// a time for each object. Errors: ballast_error, disk_full among them; a
/// record that contradicts an earlier one is `internal`.
#pragma once

#include "runtime/balance/plan_note.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/coordinator/standing_requests.hpp"
#include "runtime/ledger/ledger.hpp"
#include "runtime/ledger/plan.hpp"
#include "runtime/messages/reports.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace ballast::store {

/// The worker behind a worker_id.
struct journaled_worker {
  worker_id id{};
  std::string name;
  uint32_t incarnation = 1;
  friend bool operator==(const journaled_worker&,
                         const journaled_worker&) = default;
};

/// A membership that was issued, whether or not it ever trained.
struct journaled_generation {
  generation number{};
  std::vector<journaled_worker> workers; // by rank
  friend bool operator==(const journaled_generation&,
                         const journaled_generation&) = default;
};

struct journaled_plan {
  ledger::plan body;
  /// The first step under it; nothing while it is only offered, or revoked.
  std::optional<ledger::position> effective;
  balance::plan_note note;
};

/// The run as requested; `job` with every default filled in.
struct journaled_run {
  std::string name;
  uint64_t seed = 0;
  uint64_t rows = 0; // of the training set
  nlohmann::json job;
  /// The values that must be equal when the run goes on: its key, the build,
  /// the prepared set. Empty: journaled by an earlier build.
  std::string
      identity; // digest of key and name, see runtime/ledger/lineage.hpp
  std::string build;
  std::string manifest; // digest of the manifest
};

/// What the run has told of a plan, as far as the coordinator that takes over
/// must know.
struct journaled_telling {
  plan_number number{};
  /// A number that was never journaled may be given again, in another one.
  ballast::generation generation{};
  bool dropped = false; // else it took effect
};

/// How long the run needed until it went on after a loss.
struct journaled_recovery {
  std::string reason;
  double ms = 0;
};

/// Everything up to `committed`, which is the last step of the run that every
/// member of its generation has applied; step 0 before it.
struct journal_content {
  ballast::term term{};
  std::optional<journaled_run> run;
  std::string probe; // digest; empty: none was asked for, or nobody told yet
  std::vector<journaled_generation> generations; // ascending
  std::vector<journaled_plan> plans;             // ascending by number
  coordinator::standing_requests asked;
  step_number committed{};
  std::vector<journaled_telling> told;
  std::vector<evaluation_report> evaluations; // ascending, of what counts
  std::vector<journaled_recovery> recoveries; // in order
  std::vector<step_number> restarts;          // first ones behind a checkpoint
  uint64_t began_ns = 0; // when it was made, by the clock of events; 0: unknown
};

class journal {
public:
  static constexpr const char* file_name = "ledger.sqlite";
  static constexpr const char* lock_name = "coordinator.lock";

  /// Takes the term lock and journals a new term. Throws run_dir_in_use while
  /// another coordinator lives, run_dir_unusable.
  static journal open_for_writing(const std::filesystem::path& folder);

  journal(journal&&) noexcept;
  journal& operator=(journal&&) noexcept;
  ~journal();

  ballast::term term() const;
  /// A higher one for this life: whoever leads the run has led another one with
  /// it, and workers that heard of that take no orders of a lower one.
  void rise_to(ballast::term least);

  // -- decisions: on the disk on return ---
  /// Once per run directory.
  void record_run(const journaled_run& run);
  /// The job of that run, from now on.
  void record_job(const nlohmann::json& job);
  /// What its workers make of the probe. Once per run directory.
  void record_probe(const std::string& digest);
  /// A membership and its plan in one transaction, so that a recovery waits for
  /// the disk once.
  void record_change(const journaled_generation& membership,
                     const ledger::plan& p,
                     std::optional<ledger::position> effective = {},
                     const balance::plan_note& note = {});
  /// A plan of the newest generation is offered.
  void record_offer(const ledger::plan& p, const balance::plan_note& note = {});
  /// An offered plan is in force from `from` on. Idempotent.
  void record_effective(plan_number number, ledger::position from);
  /// All user requests that are in force; replaces the earlier record.
  void record_requests(const coordinator::standing_requests& asked);

  // -- progress: survives the process at once, the power later ---
  /// Every step up to this one is committed. Only record_undo goes back.
  void record_commit(step_number upto, epoch_number epoch);

  // Each with the number of the event that tells it, before that is written.
  void record_told(const journaled_telling& what, uint64_t event);
  void record_evaluation(const evaluation_report& what, uint64_t event);
  void record_recovery(const journaled_recovery& what, uint64_t event);
  void record_restart(step_number first, uint64_t event);
  /// Events after this one were never written: what they tell did not happen.
  void forget_events_after(uint64_t last);

  /// The run goes back to this step: later ones are committed no more, nor is
  /// the evaluation of its epoch.
  void record_undo(step_number to, epoch_number epoch);

  journal_content content() const;

private:
  struct state;
  explicit journal(std::unique_ptr<state> opened);
  std::unique_ptr<state> state_;
};

/// A consistent snapshot of the journal in `folder`, also while the run goes
/// on. Throws run_dir_unusable if there is none or it cannot be read.
/// `thoroughly`: checks every page of the file first.
journal_content read_journal(const std::filesystem::path& folder,
                             bool thoroughly = false);

} // namespace ballast::store
