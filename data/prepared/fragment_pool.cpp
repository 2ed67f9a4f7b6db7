#include "data/prepared/fragment_pool.hpp"

#include "data/prepared/fragment_task.hpp"
#include "data/source/remote_file.hpp"
#include "data/source/stream_table.hpp"
#include "data/transfer/chunk_service.hpp"
#include "runtime/base/check.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/base/thread_name.hpp"
#include "runtime/coordinator/fragment_board.hpp"
#include "store/atomic_file.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

namespace ballast::data {

namespace {

using namespace std::chrono_literals;
using coordinator::fragment_board;

/// How often who waits looks at the time.
constexpr auto look_every = 200ms;
/// One arrives while another is asked for.
constexpr size_t fetching_threads = 2;
constexpr auto connecting_deadline = 5s;

instant steady_now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

uint64_t all_bytes(const std::vector<stored_file>& files) {
  uint64_t out = 0;
  for (const stored_file& one : files)
    out += one.size;
  return out;
}

/// Takes the parts of a fragment from the service of who made it.
void fetch_fragment(const std::string& address, const std::string& token,
                    const std::string& key, uint64_t bytes,
                    const prepare_cache& cache, const store::work_watch& stop) {
  bulk_watch watch;
  watch.given_up = [&stop] { return stop.stop_requested(); };
  watch.progress = [&stop](uint64_t) { stop.note_check(); };
  const auto from = chunk_client::connect(address, token, connecting_deadline);
  store::atomic_file to(
      cache.fragment_path(key),
      {.durability = store::outlives::process, .permissions = 0600});
  for (uint64_t at = 0; at < bytes;) {
    check_stop(stop);
    const std::string part = from->fetch_blob(fragment_blob(key, at), watch);
    if (part.empty() || part.size() > bytes - at)
      throw ballast_error(errc::invalid_data,
                          "the fragment has another size than was said");
    to.append(part);
    at += part.size();
  }
  to.publish();
}

} // namespace

/// One source. Its threads end with it.
class fragment_pool::reading final : public fragment_supply,
                                     private fragment_listener {
public:
  reading(fragment_pool& of, std::string pointer)
      : of_(of), pointer_(std::move(pointer)),
        watch_(of.stop_.until(ending_.get_token())) {}
  ~reading() override;

  void begin(std::vector<stored_file> files,
             const fragment_choice& choice) override;
  std::unique_ptr<fragment_file> take(size_t number) override;

private:
  struct arrival {
    size_t file = 0;
    worker_id from{};
    std::string address;
    uint64_t bytes = 0;
  };

  void joined(worker_id who) override;
  void gone(worker_id who) override;
  void answered(const fragment_ready& what) override;

  bool pays(const std::vector<stored_file>& files) const;
  void name_files(std::vector<stored_file> files,
                  const fragment_choice& choice);
  size_t files_at_once() const;
  bool is_kept(size_t file) const;
  void note(const std::string& what) const {
    if (of_.how_.note)
      of_.how_.note(pointer_ + ": " + what);
  }
  void note_readers();
  // With the lock held:
  void finished(size_t file);
  void hand_out();
  void fetch_behind(size_t file);
  prepare_fragment order_of(size_t file) const;
  // On threads:
  void read_here();
  bool read_one(size_t file);
  void fetch_arrivals();
  void fetch_one(const arrival& what);

  fragment_pool& of_;
  const std::string pointer_;
  std::stop_source ending_;
  const store::work_watch watch_;
  std::string job_text_;
  std::vector<fragment_task> tasks_; // once begun they do not change,
  std::vector<std::string> keys_;    // nor these
  std::mutex mutex_;                 // guards the following
  std::condition_variable changed_;
  std::optional<fragment_board> board_; // if it is worth it
  std::deque<arrival> arrivals_;
  size_t newest_ = 0;                   // the last file that was begun here
  std::map<worker_id, size_t> read_by_; // this process: 0
  std::map<worker_id, std::string> names_;
  std::vector<std::thread> threads_;
};

fragment_pool::reading::~reading() {
  if (board_ && of_.how_.helpers)
    of_.how_.helpers->listen(nullptr);
  ending_.request_stop();
  changed_.notify_all();
  for (std::thread& one : threads_)
    one.join();
  if (board_)
    note_readers();
}

void fragment_pool::reading::note_readers() {
  size_t before = board_->size();
  std::string others;
  for (const auto& [who, count] : read_by_) {
    before -= std::min(before, count);
    if (who != worker_id{})
      others += ", by " + names_[who] + " " + std::to_string(count);
  }
  note("of " + std::to_string(board_->size()) + " files " +
       std::to_string(read_by_[worker_id{}]) + " were read here" + others +
       (before > 0 ? ", before or in their turn " + std::to_string(before)
                   : ""));
}

void fragment_pool::reading::name_files(std::vector<stored_file> files,
                                        const fragment_choice& choice) {
  for (stored_file& one : files) {
    fragment_task task{of_.what_, pointer_, std::move(one), {}, choice};
    task.identity =
        identity_of(task.file, pointer_ + "/uri", of_.cache_, of_.stop_);
    keys_.push_back(key_of(task));
    of_.keys_.push_back(keys_.back());
    tasks_.push_back(std::move(task));
  }
}

size_t fragment_pool::reading::files_at_once() const {
  return fragments_at_once(source_of(*of_.what_, pointer_).format,
                           tasks_.at(0).file.system != nullptr);
}

bool fragment_pool::reading::is_kept(size_t file) const {
  std::error_code ignored;
  return std::filesystem::exists(of_.cache_.fragment_path(keys_[file]),
                                 ignored);
}

bool fragment_pool::reading::pays(const std::vector<stored_file>& files) const {
  if (files.size() < 2)
    return false;
  const uint64_t worth = of_.how_.worth_bytes;
  // Images keep all cores busy as it is: it pays where others have cores, too.
  if (files[0].images != nullptr && worth > 0 &&
      !(of_.how_.helpers && of_.how_.helpers->any()))
    return false;
  // A store answers each request late, however few bytes it is about.
  constexpr uint64_t worth_more = 64;
  return all_bytes(files) >=
         worth / (files[0].system != nullptr ? worth_more : 1);
}

void fragment_pool::reading::begin(std::vector<stored_file> files,
                                   const fragment_choice& choice) {
  BALLAST_CHECK(!board_, "a source is read twice");
  if (!pays(files))
    return;
  const uint64_t bytes = all_bytes(files);
  name_files(std::move(files), choice);
  if (!of_.in_use_)
    of_.in_use_ = of_.cache_.use_fragments();
  of_.stop_.expect(bytes);
  const size_t at_once = files_at_once();
  {
    const std::lock_guard lock(mutex_);
    board_.emplace(tasks_.size(), at_once);
    size_t before = 0;
    for (size_t i = 0; i < tasks_.size(); ++i)
      if (is_kept(i) && board_->done(i)) {
        ++before;
        finished(i);
      }
    if (before > 0)
      note(std::to_string(before) + " of " + std::to_string(tasks_.size()) +
           " files were read before");
  }
  if (of_.how_.helpers) {
    job_text_ = json_text(to_json(*of_.what_));
    of_.how_.helpers->listen(this);
    for (size_t i = 0; i < fetching_threads; ++i)
      threads_.emplace_back([this] {
        name_this_thread("bl-fragments");
        fetch_arrivals();
      });
  }
  for (size_t i = 0; i < at_once; ++i)
    threads_.emplace_back([this] {
      name_this_thread("bl-files");
      read_here();
    });
}

std::unique_ptr<fragment_file> fragment_pool::reading::take(size_t number) {
  {
    std::unique_lock lock(mutex_);
    if (!board_)
      return nullptr;
    // Not with check_stop: who waits shows no progress.
    while (!board_->finished(number) && !of_.stop_.stop_requested())
      changed_.wait_for(lock, look_every);
    if (board_->finished(number) && !board_->is_done(number))
      return nullptr;
  }
  check_stop(of_.stop_);
  const std::filesystem::path place = of_.cache_.fragment_path(keys_[number]);
  try {
    return std::make_unique<fragment_file>(place, of_.stop_);
  } catch (const ballast_error& error) {
    if (error.what_failed().code == errc::stopped)
      throw;
    note(std::string(error.what()) + "; " +
         printable(tasks_[number].file.name) + " is read again");
    std::error_code ignored;
    std::filesystem::remove(place, ignored);
    return nullptr;
  }
}

// -- what happens -------------------------------------------------------------

void fragment_pool::reading::joined(worker_id who) {
  const std::lock_guard lock(mutex_);
  board_->joined(who);
  names_[who] = of_.how_.helpers->name_of(who);
  hand_out();
}

void fragment_pool::reading::gone(worker_id who) {
  const std::lock_guard lock(mutex_);
  board_->gone(who);
  hand_out();
  changed_.notify_all();
}

void fragment_pool::reading::answered(const fragment_ready& what) {
  const std::lock_guard lock(mutex_);
  // Orders of an earlier coordinator are answered, too.
  if (what.number >= keys_.size() || what.key != keys_[what.number])
    return;
  const auto file = size_t(what.number);
  switch (what.outcome) {
  case fragment_outcome::ready:
    if (board_->arriving(file, what.worker))
      arrivals_.push_back({file, what.worker, what.address, what.bytes});
    break;
  case fragment_outcome::refused:
    if (board_->refused(file))
      finished(file);
    break;
  case fragment_outcome::not_here:
    if (board_->left_out(what.worker))
      note(names_[what.worker] + " reads none of them: " + printable(what.why));
    break;
  }
  hand_out();
  changed_.notify_all();
}

void fragment_pool::reading::finished(size_t file) {
  of_.stop_.did(tasks_[file].file.size);
  changed_.notify_all();
}

void fragment_pool::reading::hand_out() {
  if (of_.how_.helpers)
    for (const auto& [who, file] : board_->give(steady_now()))
      of_.how_.helpers->order(who, order_of(file));
}

/// A line to a store stays busy while files are decoded. Others would fetch
/// for themselves what they are given.
void fragment_pool::reading::fetch_behind(size_t file) {
  newest_ = std::max(newest_, file);
  if (of_.how_.helpers && of_.how_.helpers->any())
    return;
  const uint64_t whole_max = whole_max_of(source_of(*of_.what_, pointer_));
  uint64_t room = soon_bytes();
  for (size_t next = newest_ + 1; next < tasks_.size(); ++next)
    if (!open_soon(tasks_[next].file, pointer_ + "/uri", whole_max, room))
      return;
}

prepare_fragment fragment_pool::reading::order_of(size_t file) const {
  const fragment_task& task = tasks_[file];
  return {of_.how_.term,  file,          keys_[file],
          of_.how_.token, job_text_,     pointer_,
          task.file.name, task.identity, task.choice};
}

// -- threads ------------------------------------------------------------------

void fragment_pool::reading::read_here() {
  std::unique_lock lock(mutex_);
  while (!watch_.stop_requested() && !board_->all_finished()) {
    const std::optional<size_t> file = board_->take_here(steady_now());
    if (!file) {
      changed_.wait_for(lock, look_every);
      continue;
    }
    fetch_behind(*file);
    lock.unlock();
    const bool read = read_one(*file);
    lock.lock();
    if (read ? board_->done(*file) : board_->refused(*file)) {
      if (read)
        ++read_by_[worker_id{}];
      finished(*file);
    }
  }
}

/// What is wrong with it is found again by who reads it in its turn.
bool fragment_pool::reading::read_one(size_t file) {
  constexpr uint64_t part = 8; // of the memory, for all that are read at once
  const uint64_t room = of_.memory_ / part / files_at_once();
  try {
    make_fragment(tasks_[file], room, of_.cache_, watch_);
    return true;
  } catch (const std::exception& error) {
    if (!watch_.stop_requested())
      note(printable(tasks_[file].file.name) +
           " is read in its turn: " + error.what());
    return false;
  }
}

void fragment_pool::reading::fetch_arrivals() {
  std::unique_lock lock(mutex_);
  while (!watch_.stop_requested()) {
    if (arrivals_.empty()) {
      changed_.wait_for(lock, look_every);
      continue;
    }
    const arrival what = std::move(arrivals_.front());
    arrivals_.pop_front();
    lock.unlock();
    std::string problem;
    try {
      fetch_one(what);
    } catch (const std::exception& error) {
      problem = error.what();
    }
    lock.lock();
    if (problem.empty() && board_->done(what.file)) {
      ++read_by_[what.from];
      finished(what.file);
    } else if (!problem.empty() && !watch_.stop_requested()) {
      if (board_->left_out(what.from))
        note("a file that " + names_[what.from] +
             " has read does not arrive: " + problem);
    }
    hand_out();
  }
}

void fragment_pool::reading::fetch_one(const arrival& what) {
  const std::string& key = keys_[what.file];
  if (is_kept(what.file))
    return; // it has the same cache
  fetch_fragment(what.address, of_.how_.token, key, what.bytes, of_.cache_,
                 watch_);
}

// -- the pool -----------------------------------------------------------------

fragment_pool::fragment_pool(const job& what, prepare_cache& cache,
                             fragment_terms how, uint64_t memory,
                             store::work_watch stop)
    : what_(std::make_shared<const job>(what)), cache_(cache),
      how_(std::move(how)), memory_(memory), stop_(std::move(stop)) {}

fragment_pool::~fragment_pool() = default;

std::unique_ptr<fragment_supply> fragment_pool::of(const std::string& pointer) {
  if (!has_fragments(source_of(*what_, pointer).format))
    return nullptr;
  return std::make_unique<reading>(*this, pointer);
}

void fragment_pool::set_is_made() {
  in_use_.reset();
  if (!keys_.empty())
    cache_.remove_fragments(keys_);
}

} // namespace ballast::data
