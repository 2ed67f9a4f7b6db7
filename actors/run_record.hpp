/// What the coordinator writes down about one run: directory, journal, event
/// and step logs, metrics. One object per run, replaced whole; used by the
/// coordinator's thread, except `events()` and `probe()`, which are shared.
#pragma once

#include "actors/table_copy.hpp"
#include "data/safetensors.hpp"
#include "monitor/logs/event_log.hpp"
#include "monitor/logs/step_log.hpp"
#include "monitor/metrics/metrics.hpp"
#include "monitor/report.hpp"
#include "runtime/base/event_budget.hpp"
#include "runtime/coordinator/actions.hpp"
#include "runtime/coordinator/past_run.hpp"
#include "store/damaged_tail.hpp"
#include "store/journal.hpp"
#include "store/run_directory.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ballast {

struct set_prepared; // actors/local_protocol.hpp

/// Where the coordinator can be reached; the content of coordinator.json.
struct coordinator_addresses {
  std::string control; // host:port
  std::string http;    // http://host:port
};

class run_record {
public:
  /// The directory, and what was there before this life.
  struct place {
    run_directory directory;
    bool was_there = false; // the folder
    bool had_lock = false;
    bool resumed = false;
    std::vector<damaged_tail> tails; // cut off
  };

  /// `folder` empty: BASE/NAME-N. Throws ballast_error: run_dir_in_use,
  /// run_dir_unusable, disk_full.
  run_record(const job& what, const std::string& folder,
             const std::filesystem::path& base, const std::string& token,
             const coordinator_addresses& addresses);
  /// Goes on with the run in `folder`, whose coordinator is dead. Throws
  /// run_dir_in_use, run_dir_unusable.
  run_record(const std::filesystem::path& folder,
             const coordinator_addresses& addresses);
  /// Begins, in the folder of a run that was killed before it began.
  static std::shared_ptr<run_record>
  begin_again(const job& what, const std::filesystem::path& folder,
              const std::string& token, const coordinator_addresses& addresses);

  /// What the life before left.
  past_run past();
  /// It does: how it ended counts no more. Before that nothing is changed.
  void go_on();
  /// Taken over, and not gone on with: whatever ends it now leaves the folder
  /// as it is.
  bool untouched() const { return resumed_ && !went_on_; }
  /// No earlier life of it has begun.
  bool begins() const { return begins_; }
  /// What a user should know at once is told there, too.
  void tell_by(std::function<void(const std::string&)> tell) {
    tell_ = std::move(tell);
  }
  /// Of the run's data and gradient planes; survives its coordinators.
  const std::string& token() const { return token_; }
  const std::string& name() const { return name_; }
  const std::filesystem::path& folder() const { return directory_.path(); }
  ballast::term term() const { return term_; }
  const std::shared_ptr<event_log>& events() const { return events_; }
  const std::shared_ptr<coordinator_probe>& probe() const { return probe_; }

  /// The set is prepared: from here on the run can be audited. Throws
  /// run_dir_unusable where it is not the set that the run began with.
  void prepared(const job& what, const set_prepared& made,
                const std::string& build);

  // -- the core's actions, each throws ballast_error{disk_full}
  // ----------------
  void perform(const journal_change& what);
  void perform(const journal_offer& what);
  void perform(const journal_effective& what);
  void perform(const journal_requests& what);
  void perform(const journal_commit& what);
  void perform(const write_steps& what);
  void perform(const write_event& what);
  void perform(const undo_steps& what);
  void perform(const refuse_checkpoint& what);
  /// Grows whenever steps are undone.
  uint64_t history() const { return history_; }
  /// Publishes a copy of the training state; its file. What the run needs to
  /// go on from it is on the disk before. Refused where steps were undone since
  /// history() was `history`. `requested`: its event is written in any case.
  /// Any thread, one at a time. Throws disk_full, run_dir_unusable,
  /// stale_generation.
  std::string checkpoint(const checkpoint_identity& after,
                         const std::string& state, uint32_t keep,
                         uint64_t history, bool requested);
  void workers(const nlohmann::json& list);
  /// Publishes model.safetensors, unless its parameters are not those that
  /// every worker ended with: ballast_error{digest_mismatch}. The model of a
  /// later step, left by an earlier life, stays; this one gets another name.
  saved_model model(const std::string& safetensors,
                    const std::string& weights_sha256, step_number step);
  /// The same of the parameters in a checkpoint.
  saved_model model_of(const std::string& checkpoint, step_number step);

  /// Names rows of the training set as their owner knows them.
  std::string describe(const std::vector<row_ref>& rows) const;

  /// Audit and report of an ended run; any thread, nothing else is written at
  /// the same time. Returns the report.
  nlohmann::ordered_json finish(run_report report);
  /// The run never began: removes the files that this life wrote, by name, and
  /// the folder if it made that and nothing else is in it. Where an earlier
  /// life left anything nothing is removed.
  void discard();
  /// discard() has removed them.
  bool discarded() const { return discarded_; }

  double age_s() const;

private:
  /// Without a token: the one that the run began with.
  run_record(place where, const std::optional<std::string>& token);
  journal& open_journal();
  void read_checkpoints(past_run& out);
  void begin(const job& what, const coordinator_addresses& addresses);
  void same_set(const journaled_run& run, const set_prepared& made);
  void complete_tables();
  void warn(const std::string& text);
  void sync_history() const;
  void announce(const coordinator_addresses& addresses);
  std::optional<tensor_file> earlier_model(const std::filesystem::path& place);
  saved_model publish(const std::filesystem::path& staged,
                      const std::string& sha256, step_number step);

  bool folder_was_there_;
  bool had_lock_;
  bool resumed_;
  bool begins_ = false;
  bool discarded_ = false;
  std::atomic<bool> went_on_{false};
  std::vector<damaged_tail> tails_;
  std::vector<refuse_checkpoint> damaged_; // found by past()
  bool stop_is_over_ = false;
  std::function<void(const std::string&)> tell_;
  run_directory directory_;
  mutable table_copy tables_; // ends before the folder is given back
  std::string name_;
  std::string token_;
  std::optional<journal> journal_; // closed when the run is over
  ballast::term term_{};
  std::shared_ptr<event_log> events_;
  step_log steps_;
  uint64_t samples_ = 0;               // in the steps that are written
  std::optional<step_number> undoing_; // from there, until it is told
  std::mutex checkpoints_lock_;
  std::atomic<uint64_t> history_{0};
  /// Published by this run, and of the history that counts; ascending. Only
  /// these give way to newer ones.
  std::vector<step_number> saved_;
  event_budget checkpoint_events_{40}; // of the thread that publishes them
  std::shared_ptr<coordinator_probe> probe_;
  std::chrono::steady_clock::time_point started_;
};

} // namespace ballast
