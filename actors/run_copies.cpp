#include "actors/run_copies.hpp"

#include "actors/run_parent.hpp"
#include "data/fitting/state_files.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/thread_name.hpp"
#include "store/journal.hpp"
#include "store/journal_copy.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace ballast::actors {

namespace {

namespace fs = std::filesystem;
using steady = std::chrono::steady_clock;

constexpr const char* journal_copy_name = "copied-ledger.sqlite";
constexpr const char* state_name = "state.safetensors";
constexpr int history_attempts = 3;

uint64_t bytes_of(const std::vector<data::copied_file>& files) {
  uint64_t out = 0;
  for (const data::copied_file& one : files)
    out += one.bytes;
  return out;
}

/// All that lies in a folder, by its name relative to `root`.
void add_folder(std::vector<data::file_to_copy>& to, const std::string& prefix,
                const fs::path& root, const fs::path& folder, bool lines) {
  std::vector<fs::path> found;
  std::error_code none;
  for (const auto& entry : fs::recursive_directory_iterator(folder, none))
    if (entry.is_regular_file(none))
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  for (const fs::path& one : found)
    if (auto file = data::open_to_copy(
            prefix + one.lexically_relative(root).string(), one)) {
      if (lines)
        only_whole_lines(*file);
      to.push_back(std::move(*file));
    }
}

} // namespace

void run_copies::open(target to) {
  to_ = std::move(to);
  if (to_.uri.empty())
    return;
  {
    const std::lock_guard guard(mutex_);
    status_.to = to_.uri.substr(0, to_.uri.find('?'));
  }
  thread_ = std::thread([this] { work(); });
}

run_copies::~run_copies() {
  stop();
  if (thread_.joinable())
    thread_.join();
}

void run_copies::stop() {
  stop_.request_stop();
}

std::optional<coordinator::run_status::copies> run_copies::status() const {
  const std::lock_guard guard(mutex_);
  if (status_.to.empty())
    return std::nullopt;
  return status_;
}

uint64_t run_copies::history() const {
  const std::lock_guard guard(mutex_);
  return history_;
}

bool run_copies::may_tell(event_budget& of) {
  const std::lock_guard guard(mutex_);
  return of.take(steady::now().time_since_epoch());
}

/// What goes wrong here is nothing to the checkpoint, which is published.
void run_copies::add(step_number step, const fs::path& state) {
  if (!thread_.joinable())
    return;
  try {
    take(step, state);
  } catch (const std::exception& e) {
    monitor::log().warn("the checkpoint of step {} is not copied: {}",
                        value(step), e.what());
  }
}

void run_copies::take(step_number step, const fs::path& state) {
  auto made = std::make_shared<order>();
  made->step = step;
  for (const auto& [name, path] :
       {std::pair(state_name, state),
        std::pair("state.json", state.parent_path() / "manifest.json")})
    if (auto file = data::open_to_copy(name, path))
      made->files.push_back(std::move(*file));
  if (made->files.size() != 2)
    return; // set aside meanwhile
  std::shared_ptr<order> skipped;
  {
    const std::lock_guard guard(mutex_);
    skipped = std::exchange(waiting_, std::move(made));
    failed_.reset();
  }
  changed_.notify_all();
  if (skipped)
    not_copied(skipped->step,
               {errc::busy,
                "an earlier one was still being copied when step " +
                    to_string(step) + " was saved, which is copied instead",
                {}},
               overtaken_);
}

void run_copies::undo_after(step_number to) {
  const std::lock_guard guard(mutex_);
  ++history_;
  for (std::shared_ptr<order>* one : {&waiting_, &failed_})
    if (*one && (*one)->step > to)
      one->reset();
  if (current_ && current_->step > to)
    current_->undone = true;
}

void run_copies::work() {
  name_this_thread("bl-copies");
  const std::stop_token stop = stop_.get_token();
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [this] { return waiting_ != nullptr; });
    if (stop.stop_requested()) {
      waiting_.reset();
      break;
    }
    const std::shared_ptr<order> now = current_ = std::move(waiting_);
    waiting_.reset();
    lock.unlock();
    attempt(now);
    lock.lock();
    current_.reset();
    lock.unlock();
    changed_.notify_all();
  }
  changed_.notify_all();
}

void run_copies::not_copied(step_number step, const failure& why,
                            event_budget& of) {
  monitor::log().warn("the checkpoint of step {} is not copied: {}",
                      value(step), why.message);
  if (may_tell(of))
    notices_.events()->append(
        coordinator::events::checkpoint_not_copied{step, why});
}

/// Whatever happens here, the run goes on.
void run_copies::attempt(const std::shared_ptr<order>& what) {
  const std::stop_token stop = stop_.get_token();
  const auto begun = steady::now();
  failure why;
  try {
    const uint64_t bytes = copy(*what, store::work_watch(stop));
    std::string to;
    {
      const std::lock_guard guard(mutex_);
      status_.step = what->step;
      status_.trouble.clear();
      to = status_.to;
    }
    if (may_tell(copied_))
      notices_.events()->append(coordinator::events::checkpoint_copied{
          what->step, bytes, steady::now() - begun, to});
    return;
  } catch (const ballast_error& e) {
    why = e.what_failed();
  } catch (const std::exception& e) {
    why = {errc::internal, std::string("a copy: ") + e.what(), {}};
  }
  if (stop.stop_requested())
    return;
  bool first = false;
  bool undone = false;
  {
    const std::lock_guard guard(mutex_);
    undone = what->undone;
    if (!undone) {
      first = status_.trouble.empty();
      status_.trouble = why.message;
      if (!waiting_)
        failed_ = what;
    }
  }
  try {
    if (!undone)
      not_copied(what->step, why, not_copied_);
    if (first)
      notices_.warn("the checkpoint of step " + to_string(what->step) +
                    " is not copied: " + why.message +
                    "; training goes on, and the next one is tried again");
  } catch (const ballast_error& e) { // no room for an event
    monitor::log().warn("{}", e.what());
  }
}

data::copy_place& run_copies::place() {
  if (!place_)
    place_ = std::make_unique<data::copy_place>(to_.uri);
  const std::optional<data::copy_owner> there = place_->owner();
  if (there && there->identity != to_.owner.identity)
    throw ballast_error(errc::invalid_job,
                        place_->name() + ": holds the copies of another run, " +
                            there->run +
                            "; stop this one, and go on with it with "
                            "--set /checkpoint/copy_to=ANOTHER_PLACE",
                        "/checkpoint/copy_to");
  if (there && there->term > to_.owner.term)
    throw ballast_error(errc::stale_generation,
                        place_->name() +
                            ": another coordinator goes on with this run "
                            "(term " +
                            std::to_string(there->term) + ", this one has " +
                            std::to_string(to_.owner.term) +
                            ") and copies there; end one of them");
  if (!there || there->term < to_.owner.term)
    place_->own(to_.owner);
  return *place_;
}

nlohmann::ordered_json run_copies::about() const {
  return {{"run", to_.owner.run},
          {"identity", to_.owner.identity},
          {"term", to_.owner.term}};
}

/// Of an undone step.
void run_copies::check_counts(const order& what) const {
  const std::lock_guard guard(mutex_);
  if (what.undone)
    throw ballast_error(errc::stale_generation,
                        "the run went back behind step " +
                            to_string(what.step) + " while it was copied");
}

/// What is written down only grows, and each file is read up to where it ends
/// now. In this order a later file knows no less than an earlier one, as after
/// a kill: a resume copes with that.
std::vector<data::file_to_copy> run_copies::history_files() const {
  const std::string prefix = "run/";
  std::vector<data::file_to_copy> out;
  for (const char* name : {"events.jsonl", "steps.jsonl", "undone.jsonl"})
    if (auto file = data::open_to_copy(prefix + name, directory_.file(name))) {
      only_whole_lines(*file);
      out.push_back(std::move(*file));
    }
  const fs::path journal = directory_.tmp() / journal_copy_name;
  std::error_code none;
  fs::remove(journal, none);
  store::copy_journal(directory_.path(), journal);
  auto copied = data::open_to_copy(prefix + store::journal::file_name, journal);
  fs::remove(journal, none);
  if (copied)
    out.push_back(std::move(*copied));
  for (const char* name : {"job.json", "run.key", "manifest.json",
                           parent_about_name, parent_weights_name})
    if (auto file = data::open_to_copy(prefix + name, directory_.file(name)))
      out.push_back(std::move(*file));
  add_folder(out, prefix, directory_.path(), directory_.trace(), true);
  return out;
}

/// Anew where steps were undone meanwhile.
std::vector<data::copied_file>
run_copies::put_history(const std::string& folder,
                        const store::work_watch& stop) {
  for (int attempt = 1;; ++attempt) {
    const uint64_t before = history();
    std::vector<data::copied_file> out;
    try {
      for (const data::file_to_copy& one : history_files())
        out.push_back(place_->put(folder, one, stop));
      if (history() == before)
        return out;
    } catch (const ballast_error& e) {
      if (e.what_failed().code != errc::stale_generation ||
          attempt == history_attempts)
        throw;
    }
    if (attempt == history_attempts)
      throw ballast_error(errc::stale_generation,
                          "steps were undone again and again while they were "
                          "copied");
  }
}

uint64_t run_copies::copy(const order& what, const store::work_watch& stop) {
  data::copy_place& there = place();
  const std::string folder = "step-" + to_string(what.step);
  there.begin(folder);
  std::vector<data::copied_file> files;
  for (const data::file_to_copy& one : what.files)
    files.push_back(there.put(folder, one, stop));
  check_counts(what);
  for (data::copied_file& one : put_history(folder, stop))
    files.push_back(std::move(one));
  check_counts(what);
  nlohmann::ordered_json manifest = about();
  manifest["step"] = value(what.step);
  there.complete(folder, std::move(manifest), files);
  try {
    keep_newest(what.step);
  } catch (const ballast_error& e) { // too many are there, and no harm done
    monitor::log().warn("old copies are not removed: {}", e.what());
  }
  return bytes_of(files);
}

/// Those of later steps are of steps that were undone; what has no end was
/// begun by a coordinator that was killed.
void run_copies::keep_newest(step_number made) {
  size_t older = 0;
  std::vector<data::found_copy> all = place_->checkpoints();
  for (auto one = all.rbegin(); one != all.rend(); ++one)
    if (one->step > made || (one->step < made && ++older >= to_.keep))
      place_->remove(one->folder);
  for (const std::string& folder : place_->unfinished())
    place_->remove(folder);
}

uint64_t run_copies::copy_model(const std::string& state, step_number last,
                                const store::work_watch& stop) {
  std::vector<data::file_to_copy> files;
  for (const auto& [name, is] :
       {std::pair("model.safetensors", "model.safetensors"),
        std::pair("job.json", "job.json"),
        std::pair("set.json", "manifest.json"),
        std::pair("report.json", "report.json")})
    if (auto file = data::open_to_copy(name, directory_.file(is)))
      files.push_back(std::move(*file));
  add_folder(files, "", directory_.path(),
             directory_.file(data::preprocessing_name), false);
  if (files.empty() || files.front().name != "model.safetensors")
    return 0;
  data::copy_place& there = place();
  const std::string folder = data::copy_place::model_folder;
  there.begin(folder);
  std::vector<data::copied_file> copied;
  for (const data::file_to_copy& one : files)
    copied.push_back(there.put(folder, one, stop));
  nlohmann::ordered_json manifest = about();
  manifest["state"] = state;
  manifest["steps"] = value(last);
  there.complete(folder, std::move(manifest), copied);
  return bytes_of(copied);
}

void run_copies::finish(const std::string& state, step_number last) {
  if (!thread_.joinable())
    return;
  const std::stop_token stop = stop_.get_token();
  std::unique_lock lock(mutex_);
  const auto is_idle = [this] { return !waiting_ && !current_; };
  changed_.wait(lock, stop, is_idle);
  if (failed_) {
    waiting_ = std::exchange(failed_, nullptr);
    changed_.notify_all();
    changed_.wait(lock, stop, is_idle);
  }
  const std::string to = status_.to;
  lock.unlock();
  if (stop.stop_requested())
    return;
  const auto begun = steady::now();
  failure why;
  try {
    if (const uint64_t bytes = copy_model(state, last, store::work_watch(stop)))
      notices_.events()->append(
          coordinator::events::model_copied{bytes, steady::now() - begun, to});
    return;
  } catch (const ballast_error& e) {
    why = e.what_failed();
  } catch (const std::exception& e) {
    why = {errc::internal, e.what(), {}};
  }
  notices_.warn("the model is not copied: " + why.message + "; it is in " +
                directory_.path().string());
  notices_.events()->append(coordinator::events::model_not_copied{why});
}

} // namespace ballast::actors
