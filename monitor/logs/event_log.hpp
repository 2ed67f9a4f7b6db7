/// The events of a run, in order: events.jsonl, and the newest ones in memory
/// for GET /v1/events; earlier ones are read from the file. Owned by the
/// coordinator process; every method from any thread.
#pragma once

#include "monitor/logs/event_text.hpp"
#include "store/line_file.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

namespace ballast::monitor {

struct event {
  uint64_t seq = 0; // from 1, without gaps
  std::string line; // the JSON object as in events.jsonl
};

class event_log {
public:
  static constexpr size_t kept_max = 2'000;

  /// Continues the file if it exists: numbers go on, and its last `kept` events
  /// are in memory. Throws as line_file does.
  explicit event_log(const std::filesystem::path& file, size_t kept = kept_max);

  /// Appends {"seq":..,"t_ns":..,"time":"..","kind":KIND, fields...} and
  /// returns its number. Throws ballast_error{disk_full}; the event then did
  /// not happen.
  uint64_t append(const coordinator::run_event& what) {
    return append(text_of(what));
  }
  /// Its fields are an object without those four keys. `before` is called with
  /// its number before the line is written; if it throws nothing happened.
  uint64_t append(const event_text& what,
                  const std::function<void(uint64_t seq)>& before = {});

  /// Number of the newest event, 0 before the first.
  uint64_t last() const;
  /// Number of the oldest event still in memory, last() + 1 if none.
  uint64_t first_kept() const;

  /// At most `count` events newer than `seq`, oldest first, without a gap;
  /// where the file cannot be read any more those before first_kept() are
  /// missing.
  std::vector<event> after(uint64_t seq, size_t count = kept_max) const;

  /// The same, but waits up to `timeout` for the first one; empty on timeout
  /// and when stop is requested. A subscriber calls it in a loop; a slow one
  /// reads what it missed from the file instead of blocking the writer.
  std::vector<event> wait_after(uint64_t seq, size_t count,
                                std::chrono::milliseconds timeout,
                                const std::stop_token& stop) const;

private:
  std::vector<event> copy_after(uint64_t seq, size_t count) const;
  std::vector<event> read_after(uint64_t seq, size_t count,
                                uint64_t from_bytes) const;
  /// Of the lock, which it may release.
  std::vector<event> found_after(std::unique_lock<std::mutex>& lock,
                                 uint64_t seq, size_t count) const;

  const size_t kept_;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any appended_;
  store::line_file file_;
  std::deque<event> events_;
  /// Where every so many events begin in the file.
  std::vector<uint64_t> marks_;
  uint64_t last_ = 0;
};

} // namespace ballast::monitor
