/// The newest copy of this worker's part of the state, for a checkpoint: a
/// range of the bytes of the state's file, in memory that each copy uses again.
/// A thread makes the copy while the next step computes, which only reads the
/// state; whoever changes it waits before. The coordinator asks what is there,
/// and then for one piece after another, which goes to it, or straight into its
/// file where this process sees that.
///
/// Threads: begin() and await() are of the thread that steps; the rest is of
/// any.
#pragma once

#include "actors/blob_pieces.hpp"
#include "actors/replica.hpp"
#include "actors/state_note.hpp"
#include "data/base/growing_bytes.hpp"
#include "runtime/base/ids.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>

namespace ballast::actors {

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
  /// The run ends: what is not touched yet is not needed, and who writes the
  /// model needs the cores. Any thread.
  void make_no_room() { ends_ = true; }
  /// Copies the part of rank `rank` of `world`; replaces the copy before. `of`
  /// does not change until await() returns.
  void begin(step_number after, replica_image of, uint32_t rank = 0,
             uint32_t world = 1);
  /// Returns when the copy that was begun is complete.
  void await();
  /// Somebody is about to fetch the copy, or at it: nobody has come to its end
  /// yet, nor let much time pass.
  bool is_fetched() const;
  /// The coordinator of that term is in charge: what one before it was fetching
  /// is not fetched any more.
  void ordered_by(term of);

  /// What is here, once it is complete.
  state_note note(step_number after);
  /// The piece from that byte of the file on; shorter than piece_bytes at the
  /// part's end. Nothing: it is not of the newest copy, or not of its part.
  std::optional<std::string> read(std::string_view blob, uint64_t at);
  /// Writes bytes of it into the file that sees(). False: as above. Throws as
  /// write_synced() does.
  bool write(const write_order& what);

private:
  using clock = std::chrono::steady_clock;
  void start(std::function<void()> work);
  bool holds(std::string_view blob);
  bool took(std::string_view blob, uint64_t end);
  bool with_piece(std::string_view blob, uint64_t at, uint64_t most,
                  const std::function<void(std::string_view)>& use);

  std::thread worker_; // of the thread that steps
  std::atomic<bool> ends_{false};
  std::shared_mutex memory_; // guards the copy while it is read or written
  data::growing_bytes room_; // never smaller than it was; the part's bytes
  byte_range part_;          // likewise guarded
  uint64_t file_bytes_ = 0;
  std::string header_;       // its checksum
  mutable std::mutex mutex_; // guards the following
  std::condition_variable complete_;
  std::optional<step_number> step_; // of the copy, whole or under way
  bool copying_ = false;
  term ordered_by_{};
  std::optional<clock::time_point> wanted_; // since nobody has read on
  clock::duration slowest_piece_{0};        // from one to the next
};

} // namespace ballast::actors
