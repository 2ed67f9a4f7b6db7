/// Loader threads: bring whole chunks before the steps that use them, in the
/// order of their use, at low priority. What they bring, and how many they are,
/// never changes which rows a step consumes.
///
/// They stand still while a generation begins; and where they share the link of
/// the steps, while one waits for rows itself, or for some milliseconds while
/// gradients travel. Thread-safe.
#pragma once

#include "actors/chunk_fetcher.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace ballast::actors {

/// Chunks that are not here, each part in the order of its use. The training
/// set comes first.
struct lacking_chunks {
  std::deque<chunk_id> train;
  std::deque<chunk_id> test;
  bool none() const { return train.empty() && test.empty(); }
};

class loader_threads {
public:
  struct terms {
    size_t threads = 1;
    /// Brings them into the store, on loader thread `i`; what it throws is said
    /// in the log, and its chunks are left to the steps.
    std::function<void(wanted_chunks&, size_t i)> bring;
    /// Nothing is left to bring.
    std::function<void()> all_here;
    /// They read a disk of this machine, at present: then they do not stand
    /// still, and a step leaves to them what they are at.
    std::function<bool()> from_disk;
  };

  /// `into` and `set` must outlive this.
  loader_threads(data::chunk_store& into, const ledger::manifest& set,
                 terms how);
  ~loader_threads();

  /// These, and nothing else.
  void replace(lacking_chunks all);
  /// What `what` says, on a loader thread: a first step does not wait for an
  /// account of what is here. `alone`: nothing else, also of what said so
  /// before; else in addition, in order.
  void account(std::function<lacking_chunks()> what, bool alone);
  /// Until the batches of a first step are gathered, or for a second.
  void hold();
  void batch_gathered();

  void reducing(bool begins);
  /// Within bring(), at a loader that does not read a disk: returns once it may
  /// take up the link again.
  void yield();

  /// A step waits for rows from its construction on.
  class step_waits {
  public:
    explicit step_waits(loader_threads& of);
    ~step_waits();
    step_waits(const step_waits&) = delete;
    step_waits& operator=(const step_waits&) = delete;

  private:
    loader_threads& of_;
  };
  /// From a disk, a step and the loaders read no chunk twice: calls `read` for
  /// those of these that are not here and that no loader is at, and waits for
  /// the others. Returns once all are here or their `read` was false, or if it
  /// is given up.
  void bring_for_step(data::data_part part, std::span<const chunk_id> ids,
                      const std::function<bool(chunk_id)>& read,
                      const std::function<bool()>& given_up);
  /// True from the destructor on.
  bool stopped() const { return stop_; }

private:
  using what = std::pair<data::data_part, chunk_id>;
  /// Of chunks under way, without the lock.
  void at_work(std::unique_lock<std::mutex>& lock,
               const std::vector<what>& chunks,
               const std::function<void()>& work);
  void work(size_t i);
  bool holds() const;
  bool link_is_free() const;
  bool may_go_on() const;
  void wait(std::unique_lock<std::mutex>& lock);
  wanted_chunks next_request();
  void bring(std::unique_lock<std::mutex>& lock, size_t i);
  void settle(std::unique_lock<std::mutex>& lock);

  data::chunk_store& into_;
  const ledger::manifest& set_;
  const terms how_;

  std::mutex mutex_; // guards all of the following
  std::condition_variable changed_;
  lacking_chunks rest_;
  struct asked_account {
    std::function<lacking_chunks()> what;
    bool alone = false;
  };
  std::deque<asked_account> accounts_;
  bool accounting_ = false; // a thread is at one, without the lock
  uint64_t alone_ = 0;      // so often was one asked for that counts alone
  std::set<what> under_way_;
  uint32_t steps_waiting_ = 0;
  uint32_t batches_held_ = 0; // so many more, and it goes on
  std::chrono::steady_clock::time_point held_until_;
  std::chrono::steady_clock::time_point reducing_until_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

} // namespace ballast::actors
