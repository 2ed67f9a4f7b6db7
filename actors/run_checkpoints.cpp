#include "actors/run_checkpoints.hpp"

#include "data/copies/fetched_copy.hpp"
#include "data/model/state_blocks.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/thread_name.hpp"
#include "store/json_file.hpp"
#include "store/sync_path.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace ballast::actors {

/// What lies in memory is a gain where it is there, and nothing to stop for.
run_checkpoints::stored run_checkpoints::in_memory() {
  const data::checkpoint_store store(memory_.path());
  out_of_reach_ = {};
  try {
    if (!memory_.take())
      return {};
    store.remove_unfinished();
    return store.list();
  } catch (const ballast_error& e) {
    const stored there = store.list(); // as far as it can be read
    const step_number newest =
        there.empty() ? step_number{} : there.back().holds.step;
    const step_number on_disk = saved_.empty() ? step_number{} : saved_.back();
    std::string why = e.what();
    if (newest > on_disk)
      why += "; the checkpoint of step " + to_string(newest) +
             " seems to lie there, where the newest on the disk is of step " +
             to_string(on_disk);
    // What a stranger puts there holds nobody up.
    if (newest > on_disk && memory_.is_mine())
      out_of_reach_ = {e.what_failed().code, why, {}};
    else
      notices_.warn(why);
    return {};
  }
}

/// The store may be away, and what it has may be damaged: nothing to stop for.
void run_checkpoints::fetch_missing(const std::string& uri,
                                    const std::string& identity,
                                    step_number last) {
  step_number sound{};
  std::string why;
  for (const data::stored_checkpoint& one :
       data::checkpoint_store(directory_.checkpoints()).list())
    if (one.problem.empty()) {
      sound = one.holds.step;
      why.clear();
    } else {
      why = one.file.parent_path().filename().string() + ": " + one.problem;
    }
  if (sound == step_number{} && why.empty() && last > step_number{})
    why = "checkpoints/ has none";
  if (uri.empty() || why.empty())
    return;
  try {
    const data::copy_place from(uri);
    const data::fetched_copy got = data::fetch_checkpoint(
        from, identity, sound, last, directory_.checkpoints(), {});
    if (!got.damage.empty())
      notices_.warn("copies that cannot be used: " + got.damage);
    if (got.step > step_number{})
      fetched_.push_back({got.step, got.from, why});
  } catch (const ballast_error& e) {
    notices_.warn("no copy of a checkpoint is fetched (" + why +
                  "): " + e.what());
  }
}

void run_checkpoints::tell_fetched() {
  const std::filesystem::path note = directory_.file(data::fetched_name);
  if (const nlohmann::json found = store::read_json_file(note);
      found.is_object())
    fetched_.push_back({step_number{found.value("step", uint64_t{0})},
                        found.value("from", ""),
                        "the run directory was made from it"});
  for (const coordinator::events::checkpoint_fetched& one : fetched_) {
    notices_.warn("the checkpoint of step " + to_string(one.step) +
                  " was fetched from " + one.from + ": " + one.reason);
    notices_.events()->append(one);
  }
  fetched_.clear();
  std::error_code none;
  std::filesystem::remove(note, none);
}

void run_checkpoints::note(const stored& found, bool in_memory,
                           coordinator::past_run& out) {
  for (const data::stored_checkpoint& one : found) {
    if (!one.problem.empty()) {
      damaged_.push_back({one.file.string(), one.problem});
      continue;
    }
    out.checkpoints.push_back({one.holds, one.file.string(), in_memory});
    (in_memory ? in_memory_ : saved_).push_back(one.holds.step);
  }
}

void run_checkpoints::read(coordinator::past_run& out) {
  note(data::checkpoint_store(directory_.checkpoints()).list(), false, out);
  note(in_memory(), true, out);
  std::stable_sort(
      out.checkpoints.begin(), out.checkpoints.end(),
      [](const auto& a, const auto& b) { return a.holds.step < b.holds.step; });
}

void run_checkpoints::forget_memory() {
  try {
    if (memory_.take())
      memory_.remove();
  } catch (const ballast_error& e) {
    monitor::log().warn("{}", e.what());
  }
}

failure run_checkpoints::open_memory(uint64_t state_bytes) {
  try {
    memory_.open(state_bytes);
    return {};
  } catch (const ballast_error& e) {
    return e.what_failed();
  }
}

bool run_checkpoints::memory_is_gone() {
  const std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard)
    return false; // one is just being published
  std::error_code none;
  return in_memory_.empty() ||
         !std::filesystem::exists(
             memory_.path() / ("step-" + to_string(in_memory_.back())), none);
}

/// Precondition: nobody else writes.
void run_checkpoints::save_newest() {
  const stored there = in_memory();
  if (out_of_reach_)
    throw ballast_error(out_of_reach_);
  const step_number on_disk = saved_.empty() ? step_number{} : saved_.back();
  if (there.empty() || in_memory_.empty() ||
      there.back().holds.step != in_memory_.back() ||
      in_memory_.back() <= on_disk)
    return;
  const data::stored_checkpoint& newest = there.back();
  if (!newest.problem.empty())
    throw ballast_error(errc::invalid_data, newest.problem);
  (void)write(newest.holds, data::saved_state(newest.file),
              {.keep = uint32_t(saved_.size() + 1),
               .history = history_,
               .requested = true});
}

void run_checkpoints::close(bool keep) {
  const std::lock_guard writing(writing_);
  if (closed_)
    return;
  try {
    if (keep)
      save_newest();
    memory_.remove();
  } catch (const ballast_error& e) {
    notices_.warn("the newest checkpoint could not be written to the disk: " +
                  std::string(e.what()) + "; it stays in " +
                  memory_.path().string() +
                  ", where `ballast run --resume` finds it, or remove it");
  }
  const std::lock_guard guard(mutex_);
  closed_ = true;
}

void run_checkpoints::expect_load_of(const std::string& file) {
  ahead_ = std::jthread([file](const std::stop_token& stop) {
    name_this_thread("bl-state");
    data::bring_into_memory(file, stop);
  });
}

void run_checkpoints::refuse_damaged() {
  tell_fetched();
  for (const coordinator::refuse_checkpoint& one : damaged_)
    refuse(one);
}

void run_checkpoints::undo_after(step_number to) {
  size_t aside = 0;
  {
    std::lock_guard guard(mutex_);
    ++history_;
    copies_.undo_after(to);
    std::erase_if(saved_, [&](step_number one) { return one > to; });
    std::erase_if(in_memory_, [&](step_number one) {
      if (one > to)
        data::checkpoint_store(memory_.path()).remove(one);
      return one > to;
    });
    aside =
        data::checkpoint_store(directory_.checkpoints()).set_aside_after(to);
  }
  if (aside > 0)
    notices_.warn("later checkpoints are kept in checkpoints/aside-N");
}

void run_checkpoints::refuse(const coordinator::refuse_checkpoint& what) {
  std::filesystem::path file(what.file);
  std::filesystem::path kept;
  bool removed = false;
  const bool in_memory = file.parent_path().parent_path() == memory_.path();
  {
    std::lock_guard guard(mutex_);
    std::string name = file.parent_path().filename().string();
    const auto is_it = [&](step_number one) {
      return name == "step-" + to_string(one);
    };
    std::error_code ignored;
    if (in_memory) // whose room is for the next ones
      removed = std::filesystem::remove_all(file.parent_path(), ignored) > 0;
    else
      kept = data::checkpoint_store(directory_.checkpoints()).set_aside(file);
    std::erase_if(in_memory ? in_memory_ : saved_, is_it);
  }
  std::string shown = kept.lexically_relative(directory_.path()).string();
  notices_.warn("the run cannot go on from " + file.parent_path().string() +
                ": " + what.reason +
                (removed     ? "; it is removed"
                 : in_memory ? ""
                             : "; it is kept as " + shown));
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

/// The room of those that a newer one replaces.
void run_checkpoints::keep_newest(step_number made, const publish_order& how) {
  std::vector<step_number>& all = how.in_memory ? in_memory_ : saved_;
  const data::checkpoint_store store(how.in_memory ? memory_.path()
                                                   : directory_.checkpoints());
  all.push_back(made);
  while (all.size() > (how.in_memory ? 1 : how.keep)) {
    store.remove(all.front());
    all.erase(all.begin());
  }
}

std::string run_checkpoints::write(const ledger::checkpoint_identity& after,
                                   const data::state_source& state,
                                   const publish_order& how) {
  auto begun = std::chrono::steady_clock::now();
  if (how.in_memory)
    memory_.make_again();
  const data::checkpoint_store store(how.in_memory ? memory_.path()
                                                   : directory_.checkpoints());
  store.stage(after, directory_.path().filename().string(), state);
  data::stored_checkpoint made;
  try {
    if (!how.in_memory)
      sync_history();
    std::lock_guard guard(mutex_);
    if (history_ != how.history)
      throw ballast_error(errc::stale_generation,
                          "the run went back behind step " +
                              to_string(after.step) +
                              " while its state was copied");
    made = store.publish(after);
    if (!how.in_memory)
      copies_.add(after.step, made.file);
    keep_newest(after.step, how);
  } catch (...) {
    store.drop(after);
    throw;
  }
  const coordinator::events::checkpoint published{
      after.step, after.epoch, state.bytes,
      std::chrono::steady_clock::now() - begun, how.in_memory};
  probe_->event(published);
  bool told = events_.take(begun.time_since_epoch());
  if (told || how.requested)
    notices_.events()->append(published);
  return made.file.string();
}

std::string run_checkpoints::publish(const ledger::checkpoint_identity& after,
                                     const data::state_source& state,
                                     const publish_order& how) {
  const std::lock_guard writing(writing_);
  if (closed_)
    throw ballast_error(errc::stale_generation, "the run is over");
  return write(after, state, how);
}

} // namespace ballast::actors
