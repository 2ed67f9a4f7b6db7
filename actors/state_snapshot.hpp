/// The newest copy of a worker's state, for a checkpoint, as the bytes of a
/// file, in memory that each copy uses again. A thread makes the copy while the
/// next step computes, which only reads the state; whoever changes it waits
/// before. The coordinator fetches the copy piece by piece.
///
/// Threads: begin() and await() are of the thread that steps; the rest is of
/// any.
#pragma once

#include "actors/blob_pieces.hpp"
#include "actors/replica.hpp"
#include "data/base/growing_bytes.hpp"
#include "runtime/base/ids.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>

namespace ballast::actors {

/// The blob of a copy, which travels in pieces (blob_pieces.hpp).
std::string state_blob(step_number after);

class state_snapshot {
public:
  state_snapshot() = default;
  ~state_snapshot();
  state_snapshot(const state_snapshot&) = delete;
  state_snapshot& operator=(const state_snapshot&) = delete;

  /// Touches memory for a copy of so many bytes, on a thread of its own: the
  /// first copy takes no longer then than the others. The copy that is there
  /// stays as it is.
  void make_room(uint64_t bytes);
  /// Replaces the copy before. `of` does not change until await() returns.
  void begin(step_number after, replica_image of);
  /// Returns when the copy that was begun is complete.
  void await();
  /// Somebody is about to fetch the copy, or at it: nobody has come to its end
  /// yet, nor let much time pass.
  bool is_fetched() const;
  /// The piece of that blob, once it is complete; nothing: it is not of the
  /// newest copy.
  std::optional<std::string> read(const std::string& blob, uint64_t at);

private:
  using clock = std::chrono::steady_clock;
  void start(std::function<void()> work);

  std::thread worker_;       // of the thread that steps
  std::shared_mutex memory_; // guards the copy while it is read or written
  data::growing_bytes room_; // never smaller than it was
  uint64_t bytes_ = 0;       // of the copy, at the start of the room
  mutable std::mutex mutex_; // guards the following
  std::condition_variable complete_;
  std::optional<step_number> step_; // of the copy, whole or under way
  bool copying_ = false;
  std::optional<clock::time_point> wanted_; // since nobody has read on
  clock::duration slowest_piece_{0};        // from one to the next
};

} // namespace ballast::actors
