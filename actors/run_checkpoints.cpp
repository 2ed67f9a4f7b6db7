#include "actors/run_checkpoints.hpp"

#include "data/model/state_blocks.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/thread_name.hpp"
#include "store/sync_path.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace ballast::actors {

void run_checkpoints::read(coordinator::past_run& out) {
  for (const data::stored_checkpoint& one :
       data::checkpoint_store(directory_.checkpoints()).list()) {
    if (!one.problem.empty()) {
      damaged_.push_back({one.file.string(), one.problem});
      continue;
    }
    out.checkpoints.push_back({one.holds, one.file.string()});
    saved_.push_back(one.holds.step);
  }
}

void run_checkpoints::expect_load_of(const std::string& file) {
  ahead_ = std::jthread([file](const std::stop_token& stop) {
    name_this_thread("bl-state");
    data::bring_into_memory(file, stop);
  });
}

void run_checkpoints::refuse_damaged() {
  for (const coordinator::refuse_checkpoint& one : damaged_)
    refuse(one);
}

void run_checkpoints::undo_after(step_number to) {
  size_t aside = 0;
  {
    std::lock_guard guard(mutex_);
    ++history_;
    std::erase_if(saved_, [&](step_number one) { return one > to; });
    aside =
        data::checkpoint_store(directory_.checkpoints()).set_aside_after(to);
  }
  if (aside > 0)
    notices_.warn("later checkpoints are kept in checkpoints/aside-N");
}

void run_checkpoints::refuse(const coordinator::refuse_checkpoint& what) {
  std::filesystem::path file(what.file);
  std::filesystem::path kept;
  {
    std::lock_guard guard(mutex_);
    kept = data::checkpoint_store(directory_.checkpoints()).set_aside(file);
    std::string name = file.parent_path().filename().string();
    std::erase_if(saved_, [&](step_number one) {
      return name == "step-" + to_string(one);
    });
  }
  std::string shown = kept.lexically_relative(directory_.path()).string();
  notices_.warn("the run cannot go on from " + file.parent_path().string() +
                ": " + what.reason + "; it is kept as " + shown);
  notices_.events()->append(coordinator::events::checkpoint_refused{
      file.parent_path().filename().string(), what.reason, shown});
}

/// Of an unsynced file a power cut keeps anything. A checkpoint counts only
/// together with the steps and plans that led to it.
void run_checkpoints::sync_history() const {
  if (int fault = fault_point("history.sync"))
    throw ballast_error(errc::run_dir_unusable,
                        "cannot sync " + directory_.path().string() + ": " +
                            std::strerror(fault));
  for (const char* name : {"steps.jsonl", "events.jsonl", "ledger.sqlite-wal",
                           "ledger.sqlite", "job.json", "run.key"})
    store::sync_path(directory_.file(name));
  std::error_code ignored;
  for (const auto& trace :
       std::filesystem::directory_iterator(directory_.trace(), ignored))
    store::sync_path(trace.path());
  for (const auto& folder :
       {directory_.trace(), directory_.checkpoints(), directory_.path(),
        directory_.path().parent_path()})
    store::sync_path(folder);
}

std::string run_checkpoints::publish(const ledger::checkpoint_identity& after,
                                     const data::state_source& state,
                                     uint32_t keep, uint64_t history,
                                     bool requested) {
  auto begun = std::chrono::steady_clock::now();
  data::checkpoint_store store(directory_.checkpoints());
  store.stage(after, directory_.path().filename().string(), state);
  data::stored_checkpoint made;
  try {
    sync_history();
    std::lock_guard guard(mutex_);
    if (history_ != history)
      throw ballast_error(errc::stale_generation,
                          "the run went back behind step " +
                              to_string(after.step) +
                              " while its state was copied");
    made = store.publish(after);
    saved_.push_back(after.step);
    while (saved_.size() > keep) {
      store.remove(saved_.front());
      saved_.erase(saved_.begin());
    }
  } catch (...) {
    store.drop(after);
    throw;
  }
  const coordinator::events::checkpoint published{
      after.step, after.epoch, state.bytes,
      std::chrono::steady_clock::now() - begun};
  probe_->event(published);
  bool told = events_.take(begun.time_since_epoch());
  if (told || requested)
    notices_.events()->append(published);
  return made.file.string();
}

} // namespace ballast::actors
