/// What the coordinator writes down about one run: directory, journal, event
/// and step logs, metrics. One object per run, replaced whole; used by the
/// coordinator's thread, except `events()` and `probe()`, which are shared.
#pragma once

#include "monitor/event_log.hpp"
#include "monitor/journal.hpp"
#include "monitor/metrics.hpp"
#include "monitor/report.hpp"
#include "monitor/run_directory.hpp"
#include "monitor/step_log.hpp"
#include "runtime/actions.hpp"
#include "runtime/coordinator_core.hpp"
#include "runtime/past_run.hpp"

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace ballast {

/// Where the coordinator can be reached; the content of coordinator.json.
struct coordinator_addresses {
  std::string control; // host:port
  std::string http;    // http://host:port
};

class run_record {
public:
  /// The directory, and whether the folder was there before.
  struct place {
    bool was_there = false;
    run_directory directory;
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

  /// What the life before left.
  past_run past();
  /// It does: how it ended counts no more. Before that nothing is lost.
  void go_on();
  /// Of the run's data and gradient planes; survives its coordinators.
  const std::string& token() const { return token_; }
  const std::string& name() const { return name_; }
  const std::filesystem::path& folder() const { return directory_.path(); }
  ballast::term term() const { return term_; }
  const std::shared_ptr<event_log>& events() const { return events_; }
  const std::shared_ptr<coordinator_probe>& probe() const { return probe_; }

  /// The set is prepared: from here on the run can be audited.
  void prepared(const job& what, const set_summary& set,
                const std::string& manifest);

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
  /// Publishes a copy of the training state; its file. Any thread, one at a
  /// time. Throws disk_full, run_dir_unusable.
  std::string checkpoint(position after, const std::string& state,
                         uint32_t keep);
  void workers(const nlohmann::json& list);
  /// Publishes model.safetensors, unless its parameters are not those that
  /// every worker ended with: ballast_error{digest_mismatch}.
  void model(const std::string& safetensors, const std::string& weights_sha256);

  /// Names rows of the training set as their owner knows them.
  std::string describe(const std::vector<row_ref>& rows) const;

  /// Audit and report of an ended run; any thread, nothing else is written at
  /// the same time. Returns the report.
  nlohmann::ordered_json finish(run_report report);
  /// Removes what was written: the run never began. A folder that the user
  /// had made stays, empty again.
  void discard();

  double age_s() const;

private:
  /// Without a token: the one that the run began with.
  run_record(place where, const std::optional<std::string>& token);
  journal& open_journal();
  void announce(const coordinator_addresses& addresses);

  bool folder_was_there_;
  run_directory directory_;
  std::string name_;
  std::string token_;
  std::optional<journal> journal_; // closed when the run is over
  ballast::term term_{};
  std::shared_ptr<event_log> events_;
  step_log steps_;
  uint64_t samples_ = 0; // in the steps that are written
  std::shared_ptr<coordinator_probe> probe_;
  std::chrono::steady_clock::time_point started_;
};

} // namespace ballast
