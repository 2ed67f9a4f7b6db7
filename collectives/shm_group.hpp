/// The ranks of one host in one generation: how far each of them is in the
/// current operation, and where its data is, in memory that all of them map.
///
/// A rank's board holds a progress word that only it writes: the number of the
/// operation and a stage within it. Other ranks wait until it passes a value.
/// No rank writes another rank's data; a rank that wakes up late can only read
/// data that is no longer needed, and check() then reports it.
///
/// The operating thread uses it; fail() may come from any thread. Boards live
/// as long as the generation, arenas longer.
#pragma once

#include "collectives/collective.hpp"
#include "collectives/death_watch.hpp"
#include "collectives/futex.hpp"
#include "collectives/shared_memory.hpp"
#include "collectives/stop_switch.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace ballast::collectives {

constexpr int shm_ranks_max = 64;
/// Size of one of a rank's two staging buffers, for data outside of its arenas.
constexpr size_t staging_bytes = size_t{1} << 20;

/// One rank's arguments of an operation, for the others to compare and to find
/// the data.
struct shm_call {
  uint32_t operation = 0;
  uint32_t detail = 0;
  uint64_t count = 0;
  int32_t region = -1; // 0 staging, 1... arenas, -1 nothing to read
  int32_t result_region = -1;
  uint64_t offset = 0; // bytes, within the region
  // Of an operation whose result is not where its data is:
  uint64_t result_offset = 0;
  uint64_t stride = 0; // bytes from one part of the data to the next
};

enum class shm_end : uint32_t { alive, left, failed };

/// In shared memory, written by its rank except as noted.
struct shm_board {
  alignas(64) std::atomic<uint32_t> progress;
  alignas(64) std::atomic<uint32_t> sleepers; // written by waiting ranks
  alignas(64) std::atomic<uint32_t> bell;     // by any rank: check the ends
  std::atomic<shm_end> end;
  uint32_t code; // collective_errc, valid once `end` is failed
  int32_t blame;
  char reason[232];
  alignas(64) shm_call calls[2]; // by parity of the operation's number
  alignas(64) death_mark marks[shm_ranks_max]; // one for each local watcher
};
/// One rank's memory of a generation: its board, then two staging buffers.
constexpr size_t board_bytes = (sizeof(shm_board) + 4095) / 4096 * 4096;
constexpr size_t generation_bytes = board_bytes + 2 * staging_bytes;

/// Registers the marks on this rank's board for its own lifetime.
class own_marks {
public:
  own_marks(std::shared_ptr<death_watch> watch,
            std::shared_ptr<shared_memory> board, size_t members, size_t me);
  own_marks(own_marks&&) = default;
  ~own_marks();

private:
  std::shared_ptr<death_watch> watch_;
  std::shared_ptr<shared_memory> board_;
  std::vector<death_mark*> marks_;
};

/// One local rank as this rank sees it.
struct shm_member {
  int rank = 0;                           // in the generation
  std::shared_ptr<shared_memory> board;   // writable
  std::shared_ptr<shared_memory> staging; // readable; null for this rank
  std::vector<std::shared_ptr<shared_memory>> arenas;
};

class shm_group {
public:
  /// `members` by ascending rank; members[me] is this rank.
  shm_group(std::vector<shm_member> members, int me, own_marks marks,
            std::shared_ptr<stop_switch> stop);
  shm_group(const shm_group&) = delete;
  shm_group& operator=(const shm_group&) = delete;

  /// Calls `look` every `every` while this rank waits here; it throws if
  /// something else has failed (a rank of another host, say).
  void look_elsewhere(std::function<void()> look,
                      std::chrono::milliseconds every);

  /// Calls back once, on a thread of this object, when a member's process died
  /// before it ended its part properly. Call at most once.
  void watch(std::function<void(int rank)> lost);
  ~shm_group();

  int me() const { return me_; }
  int count() const { return static_cast<int>(members_.size()); }
  int rank_of(int member) const { return members_[member].rank; }

  // -- one operation ----------------------------------------------------------

  /// Announces this rank (stage 1) and blocks until every other one is here,
  /// too. collective_error{mismatch} if their calls differ.
  void meet(const shm_call& mine, deadline until);
  const shm_call& call_of(int member) const;
  /// Publishes this rank's progress: stages count from 2.
  void advance(uint32_t stage);
  bool reached(int member, uint32_t stage) const;
  void wait(int member, uint32_t stage, deadline until);
  void wait_all(uint32_t stage, deadline until);
  /// Throws if any rank failed or died. Call after the last read of a peer's
  /// data: only then is the data known to be valid.
  void check() const;

  // -- memory -----------------------------------------------------------------

  /// Start of the data that `member` offers in this operation.
  const char* readable(int member) const;
  /// Of where it puts its result.
  const char* readable_result(int member) const;
  /// The place of `data` for peers; region -1 if they cannot read it.
  shm_call locate(const void* data, size_t bytes) const;
  /// The staging buffer of the next meet().
  char* staging();
  shm_call staging_call() const;

  // -- the end ----------------------------------------------------------------

  void leave() noexcept;
  /// Wakes all ranks and makes them fail likewise. Any thread, idempotent.
  void fail(collective_errc code, const std::string& what, int peer) noexcept;

private:
  shm_board& board(int member) const {
    return *reinterpret_cast<shm_board*>(members_[member].board->data());
  }
  const char* memory_of(int member, int32_t region, uint64_t offset) const;
  uint32_t target(uint32_t stage) const { return number_ << 16 | stage; }
  bool spin(int member, uint32_t wanted);
  void check_member(int member, bool needed) const;
  void sleep(int member, uint32_t wanted, deadline until);
  void end_with(shm_end end) noexcept;

  std::vector<shm_member> members_;
  int me_;
  own_marks marks_;
  std::shared_ptr<stop_switch> stop_;
  uint32_t number_ = 0; // of the current operation; 16 bits count
  int spins_max_;
  int spins_;
  std::function<void()> look_;
  std::atomic<uint32_t> watch_ends_{0};
  std::thread watcher_;
  std::chrono::milliseconds look_every_{100};
};

} // namespace ballast::collectives
