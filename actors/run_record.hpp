/// What the coordinator writes down about one run: the directory, and in it the
/// journal, event and step logs, checkpoints, models and what is kept of the
/// set, each a part of its own. One object per run, replaced whole; used by the
/// coordinator's thread, except where a part says so, and the event log and
/// `probe()`, which are shared.
#pragma once

#include "actors/run_checkpoints.hpp"
#include "actors/run_copies.hpp"
#include "actors/run_journal.hpp"
#include "actors/run_models.hpp"
#include "actors/run_notices.hpp"
#include "actors/run_set.hpp"
#include "actors/run_tracks.hpp"
#include "monitor/logs/event_log.hpp"
#include "monitor/logs/step_log.hpp"
#include "monitor/metrics/metrics.hpp"
#include "monitor/report.hpp"
#include "runtime/coordinator/actions.hpp"
#include "runtime/coordinator/past_run.hpp"
#include "store/damaged_tail.hpp"
#include "store/run_directory.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ballast::actors {

/// Where the coordinator can be reached; the content of coordinator.json.
struct coordinator_addresses {
  std::string control; // host:port
  std::string http;    // http://host:port
};

class run_record {
public:
  /// The directory, and what was there before this life.
  struct place {
    store::run_directory directory;
    bool was_there = false; // the folder
    bool had_lock = false;
    bool resumed = false;
    std::vector<store::damaged_tail> tails; // cut off
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

  /// Says where its coordinator is, and that its term is that at least. Throws
  /// disk_full, run_dir_unusable.
  void announce(const coordinator_addresses& addresses,
                ballast::term least = {});
  /// What the life before left.
  coordinator::past_run past();
  /// It does: how it ended counts no more. Before that nothing is changed.
  void go_on();
  /// Taken over, and not gone on with: whatever ends it now leaves the folder
  /// as it is.
  bool untouched() const { return resumed_ && !went_on_; }
  /// No earlier life of it has begun.
  bool begins() const { return begins_; }
  /// Of the run's data and gradient planes; survives its coordinators.
  const std::string& token() const { return token_; }
  const std::string& name() const { return name_; }
  const std::filesystem::path& folder() const { return directory_.path(); }
  ballast::term term() const { return term_; }
  run_notices& notices() { return notices_; }
  const std::shared_ptr<monitor::coordinator_probe>& probe() const {
    return probe_;
  }

  /// The set is prepared: from here on the run can be audited. Throws
  /// run_dir_unusable where it is not the set that the run began with.
  void prepared(const job& what, const set_prepared& made,
                const std::string& build);

  // -- the core's actions; each throws ballast_error{disk_full}
  template <class Action>
  requires requires(run_journal& in, const Action& what) { in.perform(what); }
  void perform(const Action& what) { journal_.perform(what); }
  void perform(const coordinator::write_event& action) {
    journal_.tell(action.what, *notices_.events());
    notices_.happened(action.what);
    tracks_.happened(action.what);
  }
  void perform(const coordinator::write_steps& what);
  void perform(const coordinator::undo_steps& what);
  void perform(const coordinator::refuse_checkpoint& what) {
    checkpoints_.refuse(what);
  }
  void workers(const nlohmann::json& list);

  run_checkpoints& checkpoints() { return checkpoints_; }
  run_models& models() { return models_; }
  const run_set& set() const { return set_; }

  /// Audit and report of an ended run; any thread, nothing else is written at
  /// the same time. Returns the report.
  nlohmann::ordered_json finish(monitor::run_report report);
  /// The run never began: removes the files that this life wrote, by name, and
  /// the folder if it made that and nothing else is in it. Where an earlier
  /// life left anything nothing is removed.
  void discard();
  /// discard() has removed them.
  bool discarded() const { return discarded_; }

private:
  /// Without a token: the one that the run began with.
  run_record(place where, const std::optional<std::string>& token);
  void begin(const job& what, const coordinator_addresses& addresses);

  bool folder_was_there_;
  bool had_lock_;
  bool resumed_;
  bool begins_ = false;
  bool discarded_ = false;
  std::atomic<bool> went_on_{false};
  std::vector<store::damaged_tail> tails_;
  bool stop_is_over_ = false;
  step_number inherited_{}; // the last step of the life before
  store::run_directory directory_;
  std::string name_;
  std::string token_;
  std::shared_ptr<monitor::coordinator_probe> probe_;
  run_journal journal_; // closed when the run is over
  ballast::term term_{};
  run_notices notices_;
  monitor::step_log steps_;
  run_tracks tracks_;
  run_set set_;
  run_models models_;
  run_copies copies_;
  run_checkpoints checkpoints_;
  uint64_t samples_ = 0;               // in the steps that are written
  std::optional<step_number> undoing_; // from there, until it is told
  std::chrono::steady_clock::time_point started_;
};

} // namespace ballast::actors
