#include "actors/loader_threads.hpp"

#include "monitor/logs/log.hpp"
#include "runtime/base/thread_name.hpp"

#include <algorithm>
#include <exception>
#include <sys/resource.h>
#include <unistd.h>

namespace ballast::actors {

namespace {

using namespace std::chrono_literals;

/// One request is for about this much, so that a step that waits has the link
/// for itself soon.
constexpr uint64_t request_bytes = 1 << 20;
constexpr size_t request_chunks_max = 512;
constexpr int niceness = 10;
/// The batch of the next step is gathered while a step is made: with the third
/// one the first step is over.
constexpr uint32_t batches_of_first_step = 3;
constexpr auto held_longest = 1s;
/// A reduction that takes longer waits for somebody, and the link is idle.
constexpr auto reducing_longest = 20ms;
/// After a failure.
constexpr auto try_again_after = 500ms;
constexpr auto ask_again_every = 20ms;

/// Each once.
void add_new(std::deque<chunk_id>& to, const std::deque<chunk_id>& more,
             size_t chunks) {
  std::vector<bool> there(chunks);
  for (chunk_id id : to)
    there[value(id)] = true;
  for (chunk_id id : more)
    if (!there[value(id)])
      to.push_back(id);
}

} // namespace

loader_threads::loader_threads(data::chunk_store& into,
                               const ledger::manifest& set, terms how)
    : into_(into), set_(set), how_(std::move(how)) {
  for (size_t i = 0; i < how_.threads; ++i)
    threads_.emplace_back([this, i] { work(i); });
}

loader_threads::~loader_threads() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& one : threads_)
    one.join();
}

void loader_threads::replace(lacking_chunks all) {
  {
    const std::lock_guard lock(mutex_);
    rest_ = std::move(all);
  }
  changed_.notify_all();
}

void loader_threads::account(std::function<lacking_chunks()> what, bool alone) {
  {
    const std::lock_guard lock(mutex_);
    if (alone) {
      accounts_.clear();
      rest_ = {};
      ++alone_;
    }
    accounts_.push_back({std::move(what), alone});
  }
  changed_.notify_all();
}

void loader_threads::hold() {
  const std::lock_guard lock(mutex_);
  batches_held_ = batches_of_first_step;
  held_until_ = std::chrono::steady_clock::now() + held_longest;
}

void loader_threads::batch_gathered() {
  const std::lock_guard lock(mutex_);
  if (batches_held_ > 0 && --batches_held_ == 0)
    changed_.notify_all();
}

void loader_threads::reducing(bool begins) {
  const std::lock_guard lock(mutex_);
  reducing_until_ = {};
  if (begins)
    reducing_until_ = std::chrono::steady_clock::now() + reducing_longest;
  else if (!rest_.none() || !under_way_.empty())
    changed_.notify_all();
}

loader_threads::step_waits::step_waits(loader_threads& of) : of_(of) {
  const std::lock_guard lock(of_.mutex_);
  ++of_.steps_waiting_;
}

loader_threads::step_waits::~step_waits() {
  const std::lock_guard lock(of_.mutex_);
  --of_.steps_waiting_;
  of_.changed_.notify_all();
}

void loader_threads::at_work(std::unique_lock<std::mutex>& lock,
                             const std::vector<what>& chunks,
                             const std::function<void()>& work) {
  under_way_.insert(chunks.begin(), chunks.end());
  lock.unlock();
  std::exception_ptr error;
  try {
    work();
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  for (const what& one : chunks)
    under_way_.erase(one);
  changed_.notify_all();
  if (rest_.none() && under_way_.empty() && accounts_.empty() && !accounting_)
    how_.all_here();
  if (error)
    std::rethrow_exception(error);
}

void loader_threads::bring_for_step(data::data_part part,
                                    std::span<const chunk_id> ids,
                                    const std::function<bool(chunk_id)>& read,
                                    const std::function<bool()>& given_up) {
  std::set<chunk_id> wanted(ids.begin(), ids.end());
  std::unique_lock lock(mutex_);
  while (!(given_up && given_up())) {
    std::erase_if(wanted, [&](chunk_id id) { return into_.find(part, id); });
    const auto free =
        std::find_if(wanted.begin(), wanted.end(), [&](chunk_id id) {
          return !under_way_.contains({part, id});
        });
    if (wanted.empty())
      return;
    if (free == wanted.end()) {
      changed_.wait_for(lock, ask_again_every);
      continue;
    }
    const chunk_id next = *free;
    bool brought = false;
    at_work(lock, {{part, next}}, [&] { brought = read(next); });
    if (!brought)
      wanted.erase(next);
  }
}

bool loader_threads::holds() const {
  return batches_held_ > 0 && std::chrono::steady_clock::now() < held_until_;
}

bool loader_threads::link_is_free() const {
  return how_.from_disk() ||
         (steps_waiting_ == 0 &&
          std::chrono::steady_clock::now() >= reducing_until_);
}

bool loader_threads::may_go_on() const {
  return !rest_.none() && !holds() && link_is_free();
}

/// Until something may have changed.
void loader_threads::wait(std::unique_lock<std::mutex>& lock) {
  if (holds())
    changed_.wait_until(lock, held_until_);
  else if (reducing_until_ > std::chrono::steady_clock::now())
    changed_.wait_until(lock, reducing_until_);
  else
    changed_.wait(lock);
}

void loader_threads::yield() {
  std::unique_lock lock(mutex_);
  while (!stop_ && !link_is_free())
    wait(lock);
}

wanted_chunks loader_threads::next_request() {
  const data::data_part part =
      rest_.train.empty() ? data::data_part::test : data::data_part::train;
  const bool of_train = part == data::data_part::train;
  std::deque<chunk_id>& from = of_train ? rest_.train : rest_.test;
  wanted_chunks out{&into_, part, set_.row, {}, false};
  uint64_t bytes = 0;
  while (!from.empty() && bytes < request_bytes &&
         out.chunks.size() < request_chunks_max) {
    const chunk_id id = from.front();
    from.pop_front();
    if (into_.find(part, id) || under_way_.contains({part, id}))
      continue;
    out.chunks.push_back((of_train ? set_.train : set_.test).at(value(id)));
    bytes += out.chunks.back().bytes;
  }
  return out;
}

/// The next account that is due.
void loader_threads::settle(std::unique_lock<std::mutex>& lock) {
  const asked_account next = std::move(accounts_.front());
  accounts_.pop_front();
  const uint64_t asked = alone_;
  accounting_ = true;
  lock.unlock();
  lacking_chunks found = next.what();
  lock.lock();
  accounting_ = false;
  changed_.notify_all();
  if (asked != alone_)
    return; // another one counts alone by now
  if (next.alone) {
    rest_ = std::move(found);
  } else {
    add_new(rest_.train, found.train, set_.train.size());
    add_new(rest_.test, found.test, set_.test.size());
  }
}

/// The next request.
void loader_threads::bring(std::unique_lock<std::mutex>& lock, size_t i) {
  wanted_chunks next = next_request();
  std::vector<what> chunks;
  for (const ledger::chunk_info& one : next.chunks)
    chunks.emplace_back(next.part, one.id);
  try {
    at_work(lock, chunks, [&] {
      if (!next.chunks.empty())
        how_.bring(next, i);
    });
  } catch (const std::exception& e) {
    monitor::log().warn(
        "the rest of the share: {}; steps ask for its rows themselves",
        e.what());
    // What else is wanted may still come.
    changed_.wait_for(lock, try_again_after, [this] { return stop_.load(); });
  }
}

void loader_threads::work(size_t i) {
  name_this_thread("bl-loader");
  // Of this thread; Linux knows no other meaning.
  (void)::setpriority(PRIO_PROCESS, id_t(::gettid()), niceness);
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (!accounts_.empty() && !accounting_ && !holds())
      settle(lock);
    else if (may_go_on())
      bring(lock, i);
    else
      wait(lock);
  }
}

} // namespace ballast::actors
