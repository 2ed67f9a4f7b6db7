/// The order in which decisions are performed, also where the disk is full for
/// a while: what is journaled comes before what is sent because of it, so
/// everything behind a write that does not fit waits with it. Messages are
/// taken in meanwhile; what the core decides about them queues up behind.
///
/// Owned by the coordinator actor and used on its thread. A full disk is waited
/// for as long as the run's patience; every other failure is the owner's.
#pragma once

#include "runtime/base/disk_wait.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/coordinator/actions.hpp"

#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <variant>

namespace ballast::actors {

/// Work that keeps its place among the core's actions.
struct queued_work {
  std::function<void()> todo;
  /// Called instead where the run fails before that; may be empty.
  std::function<void(const failure&)> dropped = {};
};

class action_queue {
public:
  using instant = disk_wait::instant;

  struct performer {
    /// Throws ballast_error; what throws for a full disk is performed again.
    std::function<void(const coordinator::action&)> perform;
    /// The entry in front failed for good and is dropped; the next one follows.
    std::function<void(const failure&)> failed;
    /// How long this run waits for space.
    std::function<std::chrono::seconds()> patience;
    std::function<instant()> clock;
  };
  explicit action_queue(performer by) : by_(std::move(by)) {}

  /// Performed at once, unless something before it waits.
  void add(coordinator::actions list);
  void add(queued_work what);
  /// Tries again what waits for space, if that is due.
  void retry();
  /// What could not be written did not happen, and nothing that was decided
  /// behind it.
  void drop(const failure& why);
  void clear() { queue_.clear(); }

  bool empty() const { return queue_.empty(); }
  bool waiting() const { return wait_.waiting(); }
  std::string sentence() const { return wait_.sentence(); }
  /// The core's time. It stands still while the disk is full: nobody may be
  /// given up for an order that could not be sent.
  instant core_time() const {
    return (wait_.waiting() ? wait_.since() : by_.clock()) - waited_;
  }

private:
  using entry = std::variant<coordinator::action, queued_work>;

  void work_off();
  void perform(entry& one);
  /// Whether the entry in front is tried again.
  bool waits_for(const failure& why);
  void note_space();

  const performer by_;
  std::deque<entry> queue_; // decided, in order
  bool working_ = false;    // on the queue
  disk_wait wait_;          // of its first entry
  instant waited_{0};       // in all, by the core's clock
};

} // namespace ballast::actors
