/// What takes the coordinator time: fetching, writing, auditing, each on a
/// thread of its own that ends with a message to the coordinator. One such
/// thread for the model and the report, one for checkpoints. Owned by the
/// coordinator actor and used on its thread; waits for its threads at its end.
#pragma once

#include "actors/disk_full_retry.hpp"
#include "actors/gathered_pieces.hpp"
#include "actors/local_protocol.hpp"
#include "actors/run_record.hpp"
#include "monitor/report.hpp"
#include "runtime/coordinator/actions.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

namespace ballast::actors {

/// The run that a thread works for.
struct run_work {
  local_coordinator_actor owner; // hears of the end
  std::shared_ptr<run_record> record;
  std::chrono::seconds patience{0}; // with a full disk
};

class coordinator_background {
public:
  coordinator_background() = default;
  ~coordinator_background();

  /// From workers of these names, or from a checkpoint; answers with
  /// saved_model.
  void save_model(const run_work& of, const coordinator::fetch_model& what,
                  const std::vector<std::string>& workers);
  void save_model(const run_work& of, const coordinator::publish_model& what);
  /// Beside everything else: fetching and the disk take their time. `workers`:
  /// the names of those that hold it. Answers with checkpoint_saved.
  void save_checkpoint(const run_work& of,
                       const coordinator::fetch_checkpoint& what,
                       const std::vector<std::string>& workers);
  /// Whatever is still to come from this worker is not waited for.
  void lose(worker_id who) { lost_->add(who); }
  /// Answers with report_written; of a run in which nothing happened the folder
  /// is removed instead.
  void write_report(const run_work& of, const coordinator::end_run& what,
                    monitor::run_report report, bool nothing_happened);
  /// The model or the report has been answered for.
  void join_helper();

  /// Why the report could not be written, or what its audit found; empty:
  /// neither. After join_helper().
  const std::string& no_report() const { return *no_report_; }
  /// What is waited for; empty: nothing.
  std::string sentence() const { return space_->sentence(); }

private:
  /// Thread-safe.
  class lost_workers {
  public:
    void add(worker_id who);
    bool has(worker_id who) const;

  private:
    mutable std::mutex mutex_;
    std::set<worker_id> who_;
  };

  std::vector<image_holder>
  holders_of(const std::vector<coordinator::state_holder>& from,
             const std::vector<std::string>& workers) const;
  template <class Work>
  void start_helper(Work work);
  template <class Get>
  void publish(const run_work& of, Get get);

  std::thread helper_; // fetches the model, writes the report
  std::thread copier_; // fetches and writes checkpoints
  std::shared_ptr<lost_workers> lost_ = std::make_shared<lost_workers>();
  std::shared_ptr<disk_full_retry> space_ = std::make_shared<disk_full_retry>();
  /// The helper's until it is joined.
  std::shared_ptr<std::string> no_report_ = std::make_shared<std::string>();
};

} // namespace ballast::actors
